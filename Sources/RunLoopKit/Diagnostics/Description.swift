extension RunLoop {
  /// The loop as text: its state, the common modes and their items, and each mode. For each mode the text shows the
  /// port set, the timer port, what keeps the mode from being finished, the items, and the time until its deadlines.
  /// The port sources include items that RunLoopEvents and RunLoopPorts add for themselves, which keep no run going.
  /// The soft deadline is the earliest date of a timer; at the hard one the tolerance of a timer ends.
  /// - Thread: Any; does not wait for a callout [RLK-TEXT-1, RLK-TEXT-2, RLK-TEXT-5].
  public var description: String {
    guard isInThisProcess else { return "<RunLoop of the parent process>" }
    guard !hasEnded else { return "<RunLoop, ended>" }
    let snapshot = lock.withLock { LoopSnapshot(self) }
    // Making the text calls user code, since items describe their contexts. So the lock is not held.
    return snapshot.text
  }
}

/// The data of a description, copied under the lock.
private struct LoopSnapshot {
  struct Mode {
    let name: String
    let isCommon: Bool
    let portSet: Int32?
    /// The error with which the mode's waits fail; 0 if they succeed.
    let waitFailure: Int32
    let timerPort: String
    /// The timer ports of the clocks other than `.suspending`.
    let otherTimerPorts: [String]
    let sources: [RunLoop.Item]
    let ports: [RunLoop.Item]
    let observers: [RunLoop.Item]
    let timers: [RunLoop.Item]
    let pendingBlocks: Int
    let keepers: [String]
    let softDeadline: UInt64
    let hardDeadline: UInt64
  }

  let loop: RunLoop
  let now: UInt64
  let head: String
  let commonNames: [String]
  let commonItems: [RunLoop.Item]
  let modes: [Mode]

  init(_ loop: RunLoop) {
    self.loop = loop
    now = loop.kernel.now()
    let wakeup = loop.wakes.word.fileDescriptor.map { "descriptor \($0)" } ?? "none yet"
    let current = loop.state.currentMode?.name.rawValue ?? "none"
    let spinning = loop.spinLimit == .zero ? "" : ", spinning before a sleep: \(loop.spinLimit)"
    head = """
      RunLoop {\(loop.isMain ? " main" : "")
        wakeup port: \(wakeup), stopped: \(loop.stops.isRequested ? "yes" : "no"), \
      ignoring wakeups: \(loop.stops.isRunning ? "no" : "yes (not running)"), \
      waiting: \(loop.wakes.word.isAsleep ? "yes" : "no")\(spinning)
        current mode: \(current)

      """
    commonNames = Set(
      loop.state.commonNames.map(\.rawValue)
        + loop.state.modes.filter { $0.isCommon }.map { $0.name.rawValue }
    ).sorted()
    commonItems = loop.state.commonItems.all
    let now = now
    modes = loop.state.modes.map { Mode($0, now, loop) }
  }

  static func distance(_ deadline: UInt64, _ now: UInt64) -> String {
    deadline == Time.forever
      ? "never" : "\(RunLoop.Instant(nanoseconds: now).duration(to: .init(nanoseconds: deadline)))"
  }

  var text: String {
    var text = head
    text += "  common modes: \(commonNames.joined(separator: ", "))\n"
    text += section("common items", commonItems, indent: "  ")
    for mode in modes { text += describe(mode) }
    return text + "}"
  }

  private func describe(_ mode: Mode) -> String {
    var text = "  mode \(mode.name)\(mode.isCommon ? " (common)" : "") {\n"
    text += "    port set: \(mode.portSet.map { "descriptor \($0)" } ?? "none yet"), timer port: \(mode.timerPort)\n"
    if mode.waitFailure != 0 {
      text += "    its waits fail: \(RunLoopError.wait(mode.waitFailure))\n"
    }
    for port in mode.otherTimerPorts { text += "    \(port)\n" }
    text += "    kept by: \(mode.keepers.isEmpty ? "nothing, it is finished" : mode.keepers.joined(separator: ", "))\n"
    text += section("signalled sources", mode.sources, indent: "    ")
    text += section("port sources", mode.ports, indent: "    ")
    text += section("observers", mode.observers, indent: "    ")
    text += section("timers", mode.timers, indent: "    ")
    text += "    pending blocks: \(mode.pendingBlocks)\n"
    text += "    soft deadline: \(Self.distance(mode.softDeadline, now))"
    text += ", hard deadline: \(Self.distance(mode.hardDeadline, now))\n"
    return text + "  }\n"
  }

  private func section(_ title: String, _ items: [RunLoop.Item], indent: String) -> String {
    let lines = items.map { "\(indent)  \($0.description)\n" }.joined()
    return "\(indent)\(title): \(items.count)\n\(lines)"
  }
}

extension LoopSnapshot.Mode {
  init(_ mode: ModePointer, _ now: UInt64, _ loop: RunLoop) {
    keepers = Self.keepers(of: mode, loop)
    name = mode.name.rawValue
    isCommon = mode.isCommon
    portSet = mode.ports.set?.fileDescriptor
    waitFailure = mode.ports.waitFailure
    let clocks = mode.timers.clocks
    let own = clocks.first { $0.clock == .suspending }
    timerPort = Self.describe(own, now)
    otherTimerPorts = clocks.filter { $0.clock != .suspending }.map {
      "timer port of the \($0.clock) clock: \(Self.describe($0, loop.kernel.now($0.clock)))"
    }
    sources = mode.sources.row.map(\.source)
    ports = mode.ports.members + mode.messages.members
    observers = mode.observers.row.map(\.observer)
    timers = mode.timers.members
    pendingBlocks = mode.pendingBlockCount
    softDeadline = own?.heap.first ?? Time.forever
    hardDeadline = own?.heap.wakeAt ?? Time.forever
  }

  /// What keeps the mode from being finished (rule 2), in words.
  private static func keepers(of mode: ModePointer, _ loop: RunLoop) -> [String] {
    let messagePorts = mode.messages.count
    let watched = mode.counts.ports - mode.counts.connections - messagePorts
    let counts = [
      (mode.sources.row.count, "signalled source"), (watched, "watched source"), (messagePorts, "port"),
      (mode.timers.count, "timer"), (loop.state.blockCount(for: mode), "block"),
    ]
    let items = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }
    let background = mode.counts.background.count
    // `items` counts the background members too, but these keep nothing.
    var all =
      background == 0
      ? items : mode.counts.hasNoItems ? [] : items + ["of which \(background) in the background keep nothing"]
    let jobs = loop.state.companions.workCount(for: mode)
    if jobs > 0 { all.append("\(jobs) job\(jobs == 1 ? "" : "s")") }
    return loop.isKeptByMainQueue(mode) ? all + ["the main queue"] : all
  }

  private static func describe(_ clock: ClockTimers?, _ now: UInt64) -> String {
    guard let clock else { return "none" }
    guard let port = clock.portState else { return "none yet" }
    let armed = port.armed == Time.forever ? "not armed" : "armed for \(LoopSnapshot.distance(port.armed, now))"
    return "descriptor \(port.fileDescriptor), \(armed)"
  }
}
