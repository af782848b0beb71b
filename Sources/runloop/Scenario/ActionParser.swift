/// Makes statements from words, with one closure for each verb.
struct ActionParser {
  let names: Arguments.Names

  private typealias Verb = @Sendable (inout Arguments) throws(ScenarioError) -> Action

  /// Parses actions that semicolons separate.
  func list(_ text: Substring, line: Int) throws(ScenarioError) -> [Statement] {
    var statements: [Statement] = []
    for part in text.split(separator: ";") {
      let words = Lexer.words(of: part)
      if !words.isEmpty { statements.append(try statement(words, line: line)) }
    }
    return statements
  }

  /// Parses `repeat N : ...` and `until ITEM N : ...`, which only the programs of threads may contain.
  func loop(_ head: Substring, _ tail: Substring, line: Int) throws(ScenarioError) -> Statement {
    var arguments = Arguments(Lexer.words(of: head), line: line, names: names)
    let body = try list(tail, line: line)
    let action: Action
    if arguments.verb == "repeat" {
      action = .repeat(try arguments.takeCount(), body)
    } else {
      let item = try arguments.takeItem(.observer, .source0, .source1, .timer, .block)
      action = .until(item: item, try arguments.takeCount(Limits.calls), body)
    }
    try arguments.checkEnd()
    return Statement(line: line, action: action)
  }

  private func statement(_ words: [Substring], line: Int) throws(ScenarioError) -> Statement {
    var arguments = Arguments(words, line: line, names: names)
    guard let verb = Self.verbs[arguments.verb] ?? Self.queries[arguments.verb] else {
      let isLoop = arguments.verb == "repeat" || arguments.verb == "until"
      throw isLoop
        ? arguments.error("only at the start of a line of a program")
        : ScenarioError(line, "unknown action '\(arguments.verb)'")
    }
    let action = try verb(&arguments)
    try arguments.checkEnd()
    return Statement(line: line, action: action)
  }

  private static let verbs: [String: Verb] = [
    "add": { a throws(ScenarioError) in
      let loop = try a.takeLoop()
      return .add(item: try a.takeMember(), try a.takeMode(), loop)
    },
    "remove": { a throws(ScenarioError) in
      let loop = try a.takeLoop()
      return .remove(item: try a.takeMember(), try a.takeMode(), loop)
    },
    "invalidate": { a throws(ScenarioError) in .invalidate(item: try a.takeMember()) },
    "create": { a throws(ScenarioError) in .create(item: try a.takeMember()) },
    "drop": { a throws(ScenarioError) in .drop(item: try a.takeMember()) },
    "signal": { a throws(ScenarioError) in .signal(item: try a.takeItem(.source0, .source1)) },
    "wake": { a throws(ScenarioError) in .wake(try a.takeLoop()) },
    "stop": { a throws(ScenarioError) in .stop(try a.takeLoop()) },
    "addcommon": { a throws(ScenarioError) in
      let loop = try a.takeLoop()
      return .addCommon(try a.takeMode(), loop)
    },
    "perform": { a throws(ScenarioError) in
      let loop = try a.takeLoop()
      _ = a.takeFlag("array")  // for C, where an array of one mode is not the same argument as the mode
      let block = try a.takeItem(.block)
      let modes = try a.take("mode").split(separator: ",").map { ModeName(written: String($0)) }
      return .perform(item: block, modes, loop)
    },
    "performsource": { a throws(ScenarioError) in try sourcePerform(&a, waits: false) },
    "performwait": { a throws(ScenarioError) in try sourcePerform(&a, waits: true) },
    "async": { a throws(ScenarioError) in .async(item: try a.takeItem(.block)) },
    "write": { a throws(ScenarioError) in
      .write(item: try a.takeItem(.source1), count: a.isEmpty ? 1 : try a.takeCount())
    },
    "setfire": { a throws(ScenarioError) in .setFireDate(item: try a.takeItem(.timer), try a.takeTime()) },
    "settol": { a throws(ScenarioError) in .setTolerance(item: try a.takeItem(.timer), try a.takeTime()) },
    "run": { a throws(ScenarioError) in
      let isStamped = a.takeFlag("stamp"), isQuiet = a.takeFlag("quiet")
      return .run(
        RunRequest(
          mode: try a.takeMode(), seconds: try a.takeSeconds(), returnAfterSourceHandled: try a.takeYes(),
          isStamped: isStamped, isQuiet: isQuiet))
    },
    "runforever": { _ in .runForever },
    "sleep": { a throws(ScenarioError) in .sleep(try a.takeTime(0...Limits.time)) },
    "busy": { a throws(ScenarioError) in .busy(try a.takeTime(0...Limits.time)) },
    "note": { a throws(ScenarioError) in .note(a.takeRest()) },
    "mark": { _ in .mark },
    "spawn": { a throws(ScenarioError) in .spawn(thread: try a.takeThread()) },
    "join": { a throws(ScenarioError) in .join(thread: try a.takeThread()) },
  ]

  private static func sourcePerform(_ a: inout Arguments, waits: Bool) throws(ScenarioError) -> Action {
    let loop = try a.takeLoop()
    let block = try a.takeItem(.block)
    let modes = try a.take("mode").split(separator: ",").map { ModeName(written: String($0)) }
    return .performAsSource(item: block, modes, loop, waits: waits)
  }

  private static let queries: [String: Verb] = [
    "contains": { a throws(ScenarioError) in
      let loop = try a.takeLoop()
      return .query(.contains(item: try a.takeMember(), try a.takeMode(), loop))
    },
    "valid": { a throws(ScenarioError) in .query(.isValid(item: try a.takeMember())) },
    "signalled": { a throws(ScenarioError) in .query(.isSignalled(item: try a.takeItem(.source0, .source1))) },
    "order": { a throws(ScenarioError) in .query(.order(item: try a.takeMember())) },
    "activities": { a throws(ScenarioError) in .query(.activities(item: try a.takeItem(.observer))) },
    "repeats": { a throws(ScenarioError) in .query(.repeats(item: try a.takeItem(.observer, .timer))) },
    "interval": { a throws(ScenarioError) in .query(.interval(item: try a.takeItem(.timer))) },
    "tolerance": { a throws(ScenarioError) in .query(.tolerance(item: try a.takeItem(.timer))) },
    "firein": { a throws(ScenarioError) in .query(.fireIn(item: try a.takeItem(.timer))) },
    "nextfire": { a throws(ScenarioError) in
      let loop = try a.takeLoop()
      return .query(.nextFire(try a.takeMode(), loop))
    },
    "modes": { a throws(ScenarioError) in .query(.modes(try a.takeLoop())) },
    "mode": { a throws(ScenarioError) in .query(.mode(try a.takeLoop())) },
    "waiting": { a throws(ScenarioError) in .query(.isWaiting(try a.takeLoop())) },
    "finished": { a throws(ScenarioError) in
      let loop = try a.takeLoop()
      return .query(.isFinished(try a.takeMode(), loop))
    },
    "ismain": { _ in .query(.isMain) },
    "sameloop": { a throws(ScenarioError) in .query(.isSameLoop(thread: try a.takeThread())) },
    "pending": { a throws(ScenarioError) in .query(.isPending(item: try a.takeItem(.source1))) },
    "count": { a throws(ScenarioError) in
      .query(.count(item: try a.takeItem(.observer, .source0, .source1, .timer, .block)))
    },
  ]
}
