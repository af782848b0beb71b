import RunLoopKit

/// Parses the lines that declare items.
enum ItemParser {
  static func parse(_ words: [Substring], kind: ItemDeclaration.Kind, line: Int) throws(ScenarioError)
    -> ItemDeclaration
  {
    guard words.count > 1 else { throw ScenarioError(line, "\(kind.rawValue): missing name") }
    var item = ItemDeclaration(kind: kind, name: String(words[1]), line: line)
    var options = words.dropFirst(2)
    if kind == .observer {
      guard let mask = options.popFirst() else { throw ScenarioError(line, "observer: missing activities") }
      item.activities = try activities(mask, line: line)
    }
    var given: Set<Substring> = []
    for option in options {
      let name = option.prefix { $0 != "=" }
      guard given.insert(name).inserted else {
        throw ScenarioError(line, "\(kind.rawValue): '\(name)' is given twice")
      }
      try apply(option, to: &item)
    }
    return item
  }

  private static func activities(_ mask: Substring, line: Int) throws(ScenarioError) -> RunLoop.Activity {
    var result: RunLoop.Activity = []
    for name in mask.split(separator: "|") {
      guard let activity = ActivityName.activity(named: name) else {
        throw ScenarioError(line, "unknown activity '\(name)'")
      }
      result.formUnion(activity)
    }
    return result
  }

  private static func apply(_ option: Substring, to item: inout ItemDeclaration) throws(ScenarioError) {
    let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let value = parts.count == 2 ? String(parts[1]) : nil
    let isKnown =
      if let value {
        try applyValue(value, of: parts[0], to: &item)
      } else {
        applyFlag(option, to: &item)
      }
    if !isKnown { throw ScenarioError(item.line, "\(item.kind.rawValue): unknown option '\(option)'") }
  }

  private static func applyFlag(_ flag: Substring, to item: inout ItemDeclaration) -> Bool {
    switch (flag, item.kind) {
    case ("ctx", _): item.hasContext = true
    case ("stamp", _): item.isStamped = true
    case ("quiet", _): item.isQuiet = true
    case ("sched", .source0): item.hasSchedule = true
    case ("lazy", .observer), ("lazy", .source0), ("lazy", .source1), ("lazy", .timer): item.isLazy = true
    default: return false
    }
    return true
  }

  private static func applyValue(_ value: String, of key: Substring, to item: inout ItemDeclaration)
    throws(ScenarioError) -> Bool
  {
    switch (key, item.kind) {
    case ("order", .observer), ("order", .source0), ("order", .source1), ("order", .timer):
      item.order = try integer(value, line: item.line)
    case ("repeats", .observer):
      guard value == "yes" || value == "no" else {
        throw ScenarioError(item.line, "observer: repeats is yes or no, not '\(value)'")
      }
      item.repeats = value == "yes"
    case ("delay", .timer): item.delay = try Limits.number(value, item.line, "delay: ")
    case ("interval", .timer): item.interval = try Limits.number(value, item.line, "interval: ")
    case ("tolerance", .timer): item.tolerance = try Limits.number(value, item.line, "tolerance: ")
    case ("port", .source1):
      guard value == "eventfd" || value == "pipe" else {
        throw ScenarioError(item.line, "unknown port kind '\(value)'")
      }
      item.port = value == "pipe" ? .pipe : .eventfd
    case ("share", .source1): item.port = .shared(name: value)
    case ("eq", .source0): item.equalityGroup = value
    default: return false
    }
    return true
  }

  /// Parses a whole number, which may have a fraction of zero, such as 2.0.
  private static func integer(_ text: String, line: Int) throws(ScenarioError) -> Int {
    if let integer = Int(text) ?? Double(text).flatMap({ Int(exactly: $0) }) { return integer }
    throw ScenarioError(line, "order: '\(text)' is no whole number from \(Int.min) to \(Int.max)")
  }
}

extension Int {
  /// Rounds towards zero. Outside of the range it is the nearest representable number; not-a-number becomes 0.
  init(clamping number: Double) {
    if number.isNaN {
      self = 0
    } else if let exact = Int(exactly: number.rounded(.towardZero)) {
      self = exact
    } else {
      self = number < 0 ? .min : .max
    }
  }
}
