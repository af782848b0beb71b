internal import CRunLoopCore
import RunLoopKit

/// A control frame, which one side of a connection sends besides messages.
enum Frame {
  /// Ports of this side have ended.
  case dead([UInt64])
  /// This side has released rights to the other side's ports. If `isQuiet`, this side has opened the connection and has
  /// no right left, so the other side calls `Imports.keepNone`.
  case drop([(number: UInt64, count: UInt32)], isQuiet: Bool)
  case goodbye(String)

  /// Calls `body` with the parts of the frame's packet.
  func withParts(_ body: (UnsafeBufferPointer<iovec>) -> Int32) -> Int32 {
    var entries: [rlc_frame_entry] = []
    var header: rlc_frame_header
    var text: [UInt8] = []
    switch self {
    case .dead(let numbers):
      header = rlc_frame_header(RLC_FRAME_DEAD)
      entries = numbers.map { rlc_frame_entry(right: $0) }
    case .drop(let rights, let isQuiet):
      header = rlc_frame_header(RLC_FRAME_DROP)
      header.flags = isQuiet ? UInt16(RLC_FRAME_IS_QUIET) : 0
      entries = rights.map { rlc_frame_entry(right: $0.number, count: $0.count) }
    case .goodbye(let reason):
      header = rlc_frame_header(RLC_FRAME_GOODBYE)
      text = Array(reason.utf8.prefix(Int(RLC_FRAME_REASON)))
      header.payload = UInt64(text.count)
    }
    header.entries = UInt16(entries.count)
    return withUnsafeMutableBytes(of: &header) { header in
      entries.withUnsafeMutableBytes { entries in
        text.withUnsafeMutableBytes { text in
          let parts = [header, entries, text].map { iovec(iov_base: $0.baseAddress, iov_len: $0.count) }
          return parts.withUnsafeBufferPointer(body)
        }
      }
    }
  }

  /// Adds the rights of a later frame to this one, to send both as one frame. False if that cannot be done.
  mutating func absorb(_ next: Frame) -> Bool {
    guard case .drop(let rights, isQuiet: false) = self, case .drop(let more, let isQuiet) = next else { return false }
    guard rights.count + more.count <= Int(RLC_FRAME_COMPONENTS) else { return false }
    self = .drop(rights + more, isQuiet: isQuiet)
    return true
  }

  /// The frame, divided into frames that each have no more entries than a packet may have.
  var pieces: [Frame] {
    let most = Int(RLC_FRAME_COMPONENTS)
    switch self {
    case .dead(let numbers) where numbers.count > most:
      return [.dead(Array(numbers.prefix(most)))] + Frame.dead(Array(numbers.dropFirst(most))).pieces
    case .drop(let rights, let isQuiet) where rights.count > most:
      let rest = Frame.drop(Array(rights.dropFirst(most)), isQuiet: isQuiet).pieces
      return [.drop(Array(rights.prefix(most)), isQuiet: false)] + rest
    case .dead, .drop, .goodbye:
      return [self]
    }
  }
}

extension rlc_frame_header {
  init(_ kind: rlc_frame_kind) {
    self.init()
    magic = RLC_FRAME_MAGIC
    version = UInt8(RLC_FRAME_VERSION)
    self.kind = UInt8(kind.rawValue)
  }
}

extension rlc_frame_entry {
  init(right number: UInt64, flags: UInt8 = 0, count: UInt32 = 0) {
    self.init(kind: UInt8(RLC_FRAME_RIGHT.rawValue), flags: flags, zero: 0, count: count, value: number)
  }

  init(bytes count: Int) {
    self.init(kind: UInt8(RLC_FRAME_BYTES.rawValue), flags: 0, zero: 0, count: 0, value: UInt64(count))
  }

  static var descriptor: rlc_frame_entry {
    rlc_frame_entry(kind: UInt8(RLC_FRAME_DESCRIPTOR.rawValue), flags: 0, zero: 0, count: 0, value: 0)
  }
}

/// Flags of a right's entry.
enum RightFlag {
  static let once = UInt8(RLC_FRAME_ONCE)
  static let yours = UInt8(RLC_FRAME_YOURS)
  static let asSocket = UInt8(RLC_FRAME_AS_SOCKET)
  static let reply = UInt8(RLC_FRAME_REPLY)
}
