import RunLoopKit

/// Makes a scenario from its text. It reads the lines twice: first for the names, so that a line may refer to a later
/// one.
struct ScenarioParser {
  private var scenario = Scenario()
  private var names = Arguments.Names()
  private var errors: [ScenarioError] = []

  /// Returns a scenario in which every name is known; or all errors in the order of the lines.
  static func parse(_ text: [UInt8]) -> (scenario: Scenario, errors: [ScenarioError]) {
    var parser = ScenarioParser()
    let lines = parser.program(of: text).filter { !$0.1.isEmpty && parser.isPlain($0.1, line: $0.0) }
    parser.read(lines, by: { parser, text, line throws(ScenarioError) in try parser.declare(text, line) })
    parser.names.threads.insert(parser.primaryName)
    parser.scenario.sections = [Scenario.Section(name: parser.primaryName)]
    parser.read(lines, by: { parser, text, line throws(ScenarioError) in try parser.interpret(text, line) })
    let timed = parser.scenario.timed.enumerated()
    parser.scenario.timed = timed.sorted { ($0.element.milliseconds, $0.offset) < ($1.element.milliseconds, $1.offset) }
      .map(\.element)
    return (parser.scenario, parser.errors.sorted { $0.line < $1.line })
  }

  /// Returns the numbered lines before the traces. A trace begins with a line `--- golden` or `--- right`.
  private mutating func program(of text: [UInt8]) -> [(Int, String)] {
    let lines = Array(zip(1..., Lexer.lines(of: text)))
    for (line, text) in lines where text.hasPrefix("--- ") && text != "--- golden" && text != "--- right" {
      errors.append(ScenarioError(line, "unknown trace '\(text.dropFirst(4))'"))
    }
    return Array(lines.prefix { !$0.1.hasPrefix("--- ") })
  }

  private typealias Reading = (inout ScenarioParser, String, Int) throws(ScenarioError) -> Void

  private mutating func read(_ lines: [(Int, String)], by reading: Reading) {
    for (line, text) in lines {
      do {
        try reading(&self, text, line)
      } catch {
        errors.append(error)
      }
    }
  }

  /// Refuses control characters: the tool prints text of the file, which must not drive a terminal.
  private mutating func isPlain(_ text: String, line: Int) -> Bool {
    guard let scalar = text.unicodeScalars.first(where: { ControlBytes.isControl($0) && $0 != "\t" }) else {
      return true
    }
    errors.append(ScenarioError(line, "control character \(ControlBytes.name(of: scalar))"))
    return false
  }

  // MARK: First reading: names

  /// Holds `quantum` and `watchdog` once they were given: each may come once.
  private var given: Set<Substring> = []
  private var primaryName = "A"
  private var hasProgram = false
  private var hasSection = false

  private mutating func declare(_ text: String, _ line: Int) throws(ScenarioError) {
    let words = Lexer.words(of: text[...])
    if let kind = ItemDeclaration.Kind(written: words[0]) {
      let item = try ItemParser.parse(words, kind: kind, line: line)
      guard names.items[item.name] == nil else { throw ScenarioError(line, "duplicate item '\(item.name)'") }
      names.items[item.name] = scenario.items.count
      names.kinds.append(kind)
      scenario.items.append(item)
    } else if words[0] == "thread" {
      try declareSection(words, line)
    } else if Self.isProgram(words[0]) {
      if !hasSection { names.threads.insert(primaryName) }
      hasProgram = true
    }
  }

  /// The first section names the primary thread. Statements before any section belong to thread A, which is then the
  /// primary one.
  private mutating func declareSection(_ words: [Substring], _ line: Int) throws(ScenarioError) {
    guard words.count == 2, words[1].hasSuffix(":"), words[1].count > 1 else {
      throw ScenarioError(line, "expected: thread NAME:")
    }
    let name = String(words[1].dropLast())
    if !hasSection && !hasProgram { primaryName = name }
    hasSection = true
    guard names.threads.insert(name).inserted else { throw ScenarioError(line, "duplicate thread '\(name)'") }
  }

  private static func isProgram(_ word: Substring) -> Bool {
    !directives.contains(String(word)) && word != "on" && word != "at"
  }

  // MARK: Second reading: directives, rules, programs

  private static let directives: Set<String> = [
    "title", "topic", "flags", "trace", "quantum", "slow", "watchdog",
  ]

  private mutating func interpret(_ text: String, _ line: Int) throws(ScenarioError) {
    let words = Lexer.words(of: text[...])
    let parser = ActionParser(names: names)
    switch words[0] {
    case _ where ItemDeclaration.Kind(written: words[0]) != nil:
      try checkSharing(words, line)
    case "thread":
      guard words.count == 2 else { return }
      let name = String(words[1].dropLast())
      if name != scenario.sections[0].name { scenario.sections.append(Scenario.Section(name: name)) }
    case "on":
      scenario.rules.append(try rule(text, line, parser))
    case "at":
      let (head, tail) = try split(text, words[0], line)
      guard head.count == 2 else { throw ScenarioError(line, "expected: at MS: ACTIONS") }
      let time = try Limits.number(head[1], in: 0...Limits.time, line, "at: ")
      scenario.timed.append(Scenario.TimedActions(milliseconds: time, actions: try parser.list(tail, line: line)))
    case "repeat", "until":
      guard let (head, tail) = Lexer.splitAtColon(text) else { throw ScenarioError(line, "\(words[0]): missing ':'") }
      append([try parser.loop(head, tail, line: line)])
    default:
      if Self.directives.contains(String(words[0])) {
        try directive(words, line)
      } else {
        append(try parser.list(text[...], line: line))
      }
    }
  }

  private mutating func append(_ statements: [Statement]) {
    scenario.sections[scenario.sections.count - 1].program += statements
  }

  private func checkSharing(_ words: [Substring], _ line: Int) throws(ScenarioError) {
    guard words.count > 1, let index = names.items[String(words[1])],
      case .shared(let name) = scenario.items[index].port
    else { return }
    guard let other = names.items[name], names.kinds[other] == .source1 else {
      throw ScenarioError(line, "share: bad source '\(name)'")
    }
  }

  private func split(_ text: String, _ verb: Substring, _ line: Int) throws(ScenarioError)
    -> (head: [Substring], tail: Substring)
  {
    guard let (head, tail) = Lexer.splitAtColon(text) else { throw ScenarioError(line, "\(verb): missing ':'") }
    return (Lexer.words(of: head), tail)
  }

  private func rule(_ text: String, _ line: Int, _ parser: ActionParser) throws(ScenarioError) -> Scenario.Rule {
    let (head, tail) = try split(text, "on", line)
    var arguments = Arguments(head, line: line, names: names)
    let item = try arguments.takeItem(.observer, .source0, .source1, .timer, .block)
    var activity: RunLoop.Activity?
    var calls = 1...Int.max
    while !arguments.isEmpty {
      let word = try arguments.take("condition")
      if word.hasPrefix("#") {
        calls = try callNumbers(word, line)
      } else if names.kinds[item] == .observer, let named = ActivityName.activity(named: word) {
        activity = named
      } else {
        throw arguments.error("unexpected '\(word)'")
      }
    }
    return Scenario.Rule(item: item, activity: activity, calls: calls, actions: try parser.list(tail, line: line))
  }

  private func callNumbers(_ word: String, _ line: Int) throws(ScenarioError) -> ClosedRange<Int> {
    let isOpen = word.hasSuffix("+")
    guard let number = Int(word.dropFirst().dropLast(isOpen ? 1 : 0)), number >= 1 else {
      throw ScenarioError(line, "bad count '\(word)'")
    }
    return number...(isOpen ? Int.max : number)
  }

  private mutating func directive(_ words: [Substring], _ line: Int) throws(ScenarioError) {
    guard !["title", "topic", "flags"].contains(words[0]) else { return }
    guard words.count == 2 else { throw ScenarioError(line, "\(words[0]): expected one word") }
    if words[0] == "trace" {
      guard ["full", "callouts", "collapse"].contains(words[1]) else {
        throw ScenarioError(line, "trace: unknown mode '\(words[1])'")
      }
      scenario.settings.tracesObservers = words[1] != "callouts"
      if words[1] == "collapse" { scenario.settings.collapsesIdleWakes = true }
      return
    }
    try numeric(words[0], words[1], line)
  }

  private mutating func numeric(_ name: Substring, _ value: Substring, _ line: Int) throws(ScenarioError) {
    if name == "slow" {
      let slowness = scenario.settings.slowness * (try Limits.number(value, in: Limits.scales, line, "slow: "))
      guard Limits.scales.contains(slowness) else {
        throw ScenarioError(line, "slow: all together are not from 0.001 to 1000")
      }
      scenario.settings.slowness = slowness
      return
    }
    let number = try Limits.number(value, in: 1...Limits.time, line, "\(name): ")
    guard given.insert(name).inserted else { throw ScenarioError(line, "'\(name)' is given twice") }
    if name == "quantum" { scenario.settings.quantum = number } else { scenario.settings.watchdog = number }
  }
}
