/// The words of one statement. The parser takes them from left to right; options may stand anywhere.
struct Arguments {
  let line: Int
  let verb: String
  private var words: [Substring]
  private let names: Names

  /// The names to which the words may refer.
  struct Names {
    var items: [String: Int] = [:]
    var kinds: [ItemDeclaration.Kind] = []
    var threads: Set<String> = []
  }

  init(_ words: [Substring], line: Int, names: Names) {
    self.line = line
    self.verb = String(words[0])
    self.words = Array(words.dropFirst())
    self.names = names
  }

  func error(_ text: String) -> ScenarioError { ScenarioError(line, "\(verb): \(text)") }

  /// Takes all remaining words as one text.
  mutating func takeRest() -> String {
    defer { words = [] }
    return words.joined(separator: " ")
  }

  mutating func take(_ what: String) throws(ScenarioError) -> String {
    guard !words.isEmpty else { throw error("missing \(what)") }
    return String(words.removeFirst())
  }

  var isEmpty: Bool { words.isEmpty }

  func checkEnd() throws(ScenarioError) {
    if let word = words.first { throw error("unexpected '\(word)'") }
  }

  mutating func takeFlag(_ flag: String) -> Bool {
    guard let index = words.firstIndex(of: flag[...]) else { return false }
    words.remove(at: index)
    return true
  }

  mutating func takeLoop() throws(ScenarioError) -> LoopName {
    guard let index = words.firstIndex(where: { $0.hasPrefix("loop=") }) else { return .own }
    let name = String(words.remove(at: index).dropFirst(5))
    return name == "main" ? .main : .thread(try thread(name))
  }

  mutating func takeThread() throws(ScenarioError) -> String {
    try thread(take("thread"))
  }

  private func thread(_ name: String) throws(ScenarioError) -> String {
    guard names.threads.contains(name) else { throw error("unknown thread '\(name)'") }
    return name
  }

  /// Takes an item of one of the kinds.
  mutating func takeItem(_ kinds: ItemDeclaration.Kind...) throws(ScenarioError) -> Int {
    let name = try take("item")
    guard let index = names.items[name] else { throw error("unknown item '\(name)'") }
    let kind = names.kinds[index]
    guard kinds.contains(kind) else {
      throw error("expected \(kinds.map(\.rawValue).joined(separator: " or ")), but '\(name)' is a \(kind.rawValue)")
    }
    return index
  }

  /// Takes an item that can be a member of a mode: all kinds but blocks.
  mutating func takeMember() throws(ScenarioError) -> Int {
    try takeItem(.observer, .source0, .source1, .timer)
  }

  mutating func takeMode() throws(ScenarioError) -> ModeName {
    ModeName(written: try take("mode"))
  }

  /// Takes a time in milliseconds.
  mutating func takeTime(_ range: ClosedRange<Double> = Limits.times) throws(ScenarioError) -> Double {
    try Limits.number(take("number"), in: range, line, "\(verb): ")
  }

  /// Takes the limit of a run.
  mutating func takeSeconds() throws(ScenarioError) -> Double {
    let word = try take("number")
    if word == "huge" { return 1e10 }
    if word.lowercased() == "nan" { return .nan }
    return try Limits.number(word, line, "\(verb): ")
  }

  mutating func takeCount(_ range: ClosedRange<Int> = Limits.repetitions) throws(ScenarioError) -> Int {
    let word = try take("number")
    guard let count = Int(word) ?? Double(word).flatMap({ Int(exactly: $0) }) else {
      throw error("bad number '\(word)'")
    }
    guard range.contains(count) else {
      throw error("'\(word)' is not from \(range.lowerBound) to \(range.upperBound)")
    }
    return count
  }

  mutating func takeYes() throws(ScenarioError) -> Bool {
    let word = try take("yes or no")
    guard word == "yes" || word == "no" else { throw error("expected yes or no, got '\(word)'") }
    return word == "yes"
  }
}
