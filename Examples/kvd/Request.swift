/// A line that a client sends. Keys and values are bytes; only the space and the newline mean something.
enum Request {
  case ping
  case set(Bytes, Bytes)
  case get(Bytes)
  case mistake(String)
  /// Of another protocol, whose later lines may look like ours: a web page can make a browser send them.
  case foreign

  init(_ line: ArraySlice<UInt8>) {
    // What comes most is not looked at twice.
    if line.prefix(4).reduce(0, { $0 << 8 | UInt32($1) }) == Self.setBegins {
      self = Self.set(line.dropFirst(4))
      return
    }
    if Self.isForeign(line) {
      self = .foreign
      return
    }
    let word = line.prefix { $0 != Self.space }
    let rest = line.dropFirst(word.count + 1)
    switch String(decoding: word, as: UTF8.self) {
    case "PING": self = word.count < line.count ? .mistake("PING takes nothing") : .ping
    case "GET": self = Self.get(rest)
    case "SET": self = Self.set(rest)
    case "": self = .mistake("no command")
    default: self = .mistake("unknown command")
    }
  }

  /// A line of HTTP, of any version, or the beginning of TLS. Of our own lines only `GET` of a key with spaces, which is a
  /// mistake, could be taken for one.
  private static func isForeign(_ line: ArraySlice<UInt8>) -> Bool {
    if line.starts(with: [0x16, 0x03]) { return true }
    let word = String(decoding: line.prefix(24).prefix { $0 != space && $0 != 13 }, as: UTF8.self)
    if foreignWords.contains(word) || headers.contains(word.lowercased()) { return true }
    guard word != "SET", word != "PING" else { return false }
    let text = line.last == 13 ? line.dropLast() : line
    guard let last = text.lastIndex(of: space) else { return false }
    return text[(last + 1)...].starts(with: Array("HTTP/".utf8))
  }

  private static let foreignWords: Set<String> = [
    "CONNECT", "DELETE", "HEAD", "OPTIONS", "PATCH", "POST", "PRI", "PUT", "TRACE",
  ]
  private static let headers: Set<String> = [
    "host:", "user-agent:", "accept:", "connection:", "content-type:", "content-length:", "origin:", "referer:",
    "transfer-encoding:",
  ]

  /// `SET `
  private static let setBegins: UInt32 = 0x5345_5420
  private static let space = UInt8(ascii: " ")

  private static func get(_ rest: ArraySlice<UInt8>) -> Request {
    if rest.isEmpty || rest.contains(space) { return .mistake("GET takes a key without spaces") }
    return .get(Bytes(rest))
  }

  /// The value may be empty; the space before it may not be missing.
  private static func set(_ rest: ArraySlice<UInt8>) -> Request {
    let key = rest.prefix { $0 != space }
    if key.isEmpty || key.count == rest.count { return .mistake("SET takes a key without spaces, and a value") }
    return .set(Bytes(key), Bytes(rest.dropFirst(key.count + 1)))
  }
}
