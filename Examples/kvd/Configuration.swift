import Glibc

/// `kvd.conf`: `name = value` lines; `#` begins a comment. Read at the start and on SIGHUP, as a whole or not at all.
struct Configuration: Equatable {
  /// A client that neither sends nor takes anything for so long is dropped.
  var idleTimeout: Duration = .seconds(300)
  /// How long a farewell may take: until then clients can fetch their answers.
  var drainTimeout: Duration = .seconds(2)
  /// In bytes, without the newline.
  var maximumLine = 64 << 10
  var maximumClients = 4096
  /// Answers that a client has not taken, in bytes; beyond it nothing more is read from that client.
  var outputLimit = 1 << 20
  /// The size of the log, in bytes, from which on it is compacted when half of it is out of date.
  var compactThreshold = 8 << 20

  /// All that is wrong with the file, a line each.
  struct Mistakes: Error, CustomStringConvertible {
    var lines: [String]
    var description: String { lines.joined(separator: "\nkvd: ") }
  }

  /// The defaults if there is no such file.
  static func read(from directory: String) throws -> Configuration {
    let path = directory + "/kvd.conf"
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 && errno == ENOENT { return Configuration() }
    guard descriptor >= 0 else { throw Failure.system(path) }
    let file = File(descriptor: descriptor, path: path)
    var bytes = [UInt8](repeating: 0, count: min(try file.size(), 1 << 20))
    let count = try bytes.withUnsafeMutableBytes { try file.read(at: 0, into: $0) }
    return try Configuration(parsing: String(decoding: bytes[..<count], as: UTF8.self))
  }

  init() {}

  init(parsing text: String) throws(Mistakes) {
    var mistakes = Mistakes(lines: [])
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" || $0 == "\r" }
      guard !words.isEmpty else { continue }
      let setting = words.joined(separator: " ").split(separator: "=", omittingEmptySubsequences: false)
        .map { String($0.split(separator: " ").joined(separator: " ")) }
      guard setting.count == 2 else {
        mistakes.lines.append("kvd.conf:\(number + 1): not of the form 'name = value'")
        continue
      }
      if let complaint = set(setting[0], to: setting[1]) {
        mistakes.lines.append("kvd.conf:\(number + 1): \(complaint)")
      }
    }
    guard mistakes.lines.isEmpty else { throw mistakes }
  }

  /// What is wrong with it, if anything.
  private mutating func set(_ name: String, to value: String) -> String? {
    switch name {
    case "idle-timeout": Self.set(&idleTimeout, Self.duration(value), "wants a time like 30s or 250ms")
    case "drain-timeout": Self.set(&drainTimeout, Self.duration(value), "wants a time like 30s or 250ms")
    case "max-line": Self.set(&maximumLine, Self.count(value, 16...(16 << 20)), "wants 16 to 16m")
    case "max-clients": Self.set(&maximumClients, Self.count(value, 1...1_000_000), "wants 1 to 1000000")
    case "output-limit": Self.set(&outputLimit, Self.count(value, 1024...(1 << 30)), "wants 1k to 1024m")
    case "compact-threshold": Self.set(&compactThreshold, Self.count(value, 1024...(1 << 40)), "wants at least 1k")
    default: "unknown name '\(name)'"
    }
  }

  private static func set<Value>(_ field: inout Value, _ value: Value?, _ complaint: String) -> String? {
    guard let value else { return complaint }
    field = value
    return nil
  }

  private static func duration(_ text: String) -> Duration? {
    let digits = text.prefix { $0.isNumber }
    guard let number = Int64(digits), (1...1_000_000_000).contains(number) else { return nil }
    switch text.dropFirst(digits.count) {
    case "ms": return .milliseconds(number)
    case "s": return .seconds(number)
    default: return nil
    }
  }

  private static func count(_ text: String, _ range: ClosedRange<Int>) -> Int? {
    let digits = text.prefix { $0.isNumber }
    let shifts: [Substring: Int] = ["": 0, "k": 10, "m": 20]
    guard let number = Int(digits), let shift = shifts[text.dropFirst(digits.count)], number <= Int.max >> 20 else {
      return nil
    }
    return range.contains(number << shift) ? number << shift : nil
  }
}
