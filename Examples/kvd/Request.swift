/// A line that a client sends. Keys and values are bytes; only the space and the newline mean something.
enum Request {
  case ping
  case set(Bytes, Bytes)
  case get(Bytes)
  case mistake(String)

  init(_ line: ArraySlice<UInt8>) {
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
