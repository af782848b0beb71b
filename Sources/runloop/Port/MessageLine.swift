import RunLoopKit
internal import RunLoopLibc

extension RunLoop.Message {
  var totalBytes: Int {
    components.reduce(0) { sum, component in
      if case .bytes(let bytes) = component { sum + bytes.count } else { sum }
    }
  }

  /// One line: `id 150 pid 4711 uid 0 bytes 5 "hello" descriptors 1 "/etc/hostname"`
  var line: String {
    var words = ["id \(id)"]
    if let sender { words.append("pid \(sender.processID) uid \(sender.userID)") }
    words.append("bytes \(totalBytes)")
    if totalBytes > 0 { words.append(Self.quoted(firstBytes(Self.mostShown), isAll: totalBytes <= Self.mostShown)) }
    words.append("descriptors \(descriptors.count)")
    words += descriptors.map { Self.target(of: $0.fileDescriptor) }
    return words.joined(separator: " ")
  }

  private static let mostShown = 60

  private func firstBytes(_ limit: Int) -> [UInt8] {
    var first: [UInt8] = []
    for component in components where first.count < limit {
      if case .bytes(let bytes) = component { first += bytes.prefix(limit - first.count) }
    }
    return first
  }

  /// Quotes bytes: keeps printable ASCII, and escapes the rest, so that a message cannot drive the terminal.
  private static func quoted(_ bytes: [UInt8], isAll: Bool) -> String {
    var text = ""
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): text += "\\" + String(UnicodeScalar(byte))
      case UInt8(ascii: "\n"): text += "\\n"
      case 0x20...0x7E: text += String(UnicodeScalar(byte))
      default: text += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }
    }
    return "\"\(text)\"\(isAll ? "" : "...")"
  }

  /// Returns the kernel's name of a descriptor: a path, `pipe:[4711]`...
  private static func target(of descriptor: Int32) -> String {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let length = buffer.withUnsafeMutableBytes { bytes in
      readlink("/proc/self/fd/\(descriptor)", bytes.baseAddress!.assumingMemoryBound(to: CChar.self), bytes.count)
    }
    guard length > 0 else { return "?" }
    return quoted(Array(buffer[..<length]), isAll: true)
  }
}
