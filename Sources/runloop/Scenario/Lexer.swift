/// Removes comments and finds words, as section 1 of docs/scenario-language.md describes them.
enum Lexer {
  private static let hash = UInt8(ascii: "#"), blank = UInt8(ascii: " "), tab = UInt8(ascii: "\t")

  /// Returns the lines without comments and without blanks at their ends. Repairs bytes that are no UTF-8.
  static func lines(of text: [UInt8]) -> [String] {
    text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
      String(decoding: trimmed(withoutComment(line)), as: UTF8.self)
    }
  }

  static func words(of text: Substring) -> [Substring] {
    text.split { $0 == " " || $0 == "\t" }
  }

  /// Returns the text before and after the first colon.
  static func splitAtColon(_ text: String) -> (head: Substring, tail: Substring)? {
    guard let colon = text.firstIndex(of: ":") else { return nil }
    return (text[..<colon], text[text.index(after: colon)...])
  }

  /// `#` starts a comment at the start of a line or after a blank, unless a digit follows.
  private static func withoutComment(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    for index in line.indices where line[index] == hash {
      let follows = index == line.startIndex || line[index - 1] == blank || line[index - 1] == tab
      let isCallNumber = index + 1 < line.endIndex && (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(line[index + 1])
      if follows && !isCallNumber { return line[..<index] }
    }
    return line
  }

  private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    func isBlank(_ byte: UInt8) -> Bool { byte == blank || byte == tab || byte == UInt8(ascii: "\r") }
    guard let first = line.firstIndex(where: { !isBlank($0) }), let last = line.lastIndex(where: { !isBlank($0) })
    else { return [] }
    return line[first...last]
  }
}
