import RunLoopKit

/// A parsed scenario file. Items are named by their index in `items`, threads by their name.
struct Scenario: Sendable {
  var settings = Settings()
  var items: [ItemDeclaration] = []
  var rules: [Rule] = []
  /// The first section is that of the primary thread.
  var sections = [Section(name: "A")]
  var timed: [TimedActions] = []

  struct Settings: Sendable {
    var tracesObservers = true
    var collapsesIdleWakes = false
    /// In milliseconds, like `watchdog`.
    var quantum = 50.0
    var watchdog = 5000.0
    /// The product of the `slow` factors.
    var slowness = 1.0
  }

  /// A thread and its program.
  struct Section: Sendable {
    var name: String
    var program: [Statement] = []
  }

  /// `at MS: ...`
  struct TimedActions: Sendable {
    let milliseconds: Double
    let actions: [Statement]
  }

  /// `on ITEM [ACTIVITY] [#N | #N+] : ...`
  struct Rule: Sendable {
    let item: Int
    let activity: RunLoop.Activity?
    let calls: ClosedRange<Int>
    let actions: [Statement]
  }
}

/// The declaration of an item: one line, which section 3 of docs/scenario-language.md describes.
struct ItemDeclaration: Sendable {
  enum Kind: String, Sendable, CaseIterable {
    case observer, source0, source1, timer, block

    /// Takes a source by either name: CFRunLoop's (`source0`, `source1`) or RunLoopKit's (`source`, `portsource`).
    init?(written name: Substring) {
      switch name {
      case "source": self = .source0
      case "portsource": self = .source1
      default: self.init(rawValue: String(name))
      }
    }
  }

  enum Port: Sendable {
    case eventfd, pipe
    case shared(name: String)
  }

  let kind: Kind
  let name: String
  let line: Int
  var order = 0
  var hasContext = false
  var isStamped = false
  var isQuiet = false
  var isLazy = false
  // Observers.
  var activities: RunLoop.Activity = []
  var repeats = true
  // Version 0 sources.
  var hasSchedule = false
  var equalityGroup: String?
  // Version 1 sources.
  var port = Port.eventfd
  // Timers, in milliseconds.
  var delay = 0.0
  var interval = 0.0
  var tolerance: Double?

  init(kind: Kind, name: String, line: Int) {
    self.kind = kind
    self.name = name
    self.line = line
  }
}

/// A mode as a scenario writes it.
struct ModeName: Sendable {
  let written: String

  /// In C a `-copy` name stands for another string that equals the constant. In Swift equal names are one mode.
  var mode: RunLoop.Mode {
    switch written {
    case "default": .default
    case "common": .common
    case "default-copy": RunLoop.Mode(rawValue: RunLoop.Mode.default.rawValue)
    case "common-copy": RunLoop.Mode(rawValue: RunLoop.Mode.common.rawValue)
    default: RunLoop.Mode(rawValue: written)
    }
  }

  /// The name in `run` lines: a copy is shown as it was written.
  var shown: String {
    written.hasSuffix("-copy") ? written : ModeName.traced(mode)
  }

  static func traced(_ mode: RunLoop.Mode?) -> String {
    guard let mode else { return "none" }
    if mode == .default { return "default" }
    return mode == .common ? "common" : mode.rawValue
  }
}

/// The words for the six activities and the two masks.
enum ActivityName {
  static let single: [(name: String, activity: RunLoop.Activity)] = [
    ("entry", .entry), ("before-timers", .beforeTimers), ("before-sources", .beforeSources),
    ("before-waiting", .beforeWaiting), ("after-waiting", .afterWaiting), ("exit", .exit),
  ]

  static func activity(named name: some StringProtocol) -> RunLoop.Activity? {
    switch name {
    case "all": .all
    case "none": []
    default: single.first { $0.name == name }?.activity
    }
  }

  static func name(of activity: RunLoop.Activity) -> String {
    single.first { $0.activity == activity }?.name ?? "?"
  }
}

struct ScenarioError: Error {
  let line: Int
  let text: String

  init(_ line: Int, _ text: String) {
    self.line = line
    self.text = text
  }
}
