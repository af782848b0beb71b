import RunLoopKit
internal import RunLoopLibc
import RunLoopTesting
import Synchronization

/// Runs a scenario through the public interface of RunLoopKit.
final class Interpreter: Sendable {
  let file: String
  let scenario: Scenario
  let time: Timeline
  let trace = Trace()
  let items: [ItemRecord]
  let itemsByName: [String: ItemRecord]
  let threads: [ScenarioThread]
  let directory = ThreadDirectory()
  private let ext = ScenarioThread(name: "ext", prefix: "ext: ")
  private let zero = Mutex(RunLoop.Instant(nanoseconds: 0))

  init(file: String, scenario: Scenario, time: Timeline) {
    self.file = file
    self.scenario = scenario
    self.time = time
    let rules = Dictionary(grouping: scenario.rules, by: \.item)
    items = scenario.items.enumerated().map { index, declaration in
      ItemRecord(declaration: declaration, rules: rules[index] ?? [])
    }
    itemsByName = Dictionary(items.map { ($0.name, $0) }) { first, _ in first }
    threads = scenario.sections.enumerated().map { index, section in
      ScenarioThread(name: section.name, prefix: index == 0 ? "" : section.name + ": ", program: section.program)
    }
  }

  var primary: ScenarioThread { threads[0] }

  /// Runs the scenario, and returns its trace. Ends the process only after an error or a hang. Call it on the main
  /// thread.
  func run() -> String {
    startWatchdog()
    if primary.name == "main" {
      runPrimary()
    } else {
      time.start { self.runPrimary() }.join()
    }
    return trace.finish(collapsingIdleWakes: scenario.settings.collapsesIdleWakes)
  }

  // MARK: Threads

  private func runPrimary() {
    directory.enter(primary)
    _ = primary.markStarted()
    primary.obtainLoop(RunLoop.current)
    zero.withLock { $0 = .now }
    for item in items where !item.declaration.isLazy { create(item) }
    let ended = time.makeGate()
    let timed = scenario.timed.isEmpty ? nil : time.start { self.executeTimed(until: ended) }
    execute(primary.program, on: primary)
    emit("end", on: primary)
    trace.close()
    ended.open()
    timed?.join()
  }

  private func executeTimed(until ended: ThreadGate) {
    directory.enter(ext)
    for entry in scenario.timed {
      if ended.wait(until: zero.withLock { $0 }.advanced(by: time.duration(entry.milliseconds))) { return }
      execute(entry.actions, on: ext)
    }
  }

  func spawn(_ name: String, line: Int) {
    let thread = thread(name)
    guard thread.markStarted() else { fail(line, "thread '\(name)' was started already") }
    let hasLoop = time.makeGate()
    let worker = time.start {
      self.directory.enter(thread)
      thread.obtainLoop(RunLoop.current)
      hasLoop.open()
      self.execute(thread.program, on: thread)
      thread.giveUpLoop()
    }
    thread.setWorker(worker)
    hasLoop.wait()
  }

  func join(_ name: String, line: Int) {
    let thread = thread(name)
    guard thread.hasStarted else { fail(line, "thread '\(name)' was not started") }
    thread.join()
  }

  func thread(_ name: String) -> ScenarioThread {
    threads.first { $0.name == name }!  // the parser has checked the name
  }

  /// If the scenario takes too long, prints the trace so far and HANG.
  private func startWatchdog() {
    _ = time.start {
      self.time.sleep(self.scenario.settings.watchdog)
      self.hang()
    }
    time.startBackstop(scenario.settings.watchdog) { self.hang() }
  }

  private func hang() -> Never {
    Output.write(trace.finish(collapsingIdleWakes: scenario.settings.collapsesIdleWakes) + "HANG\n")
    _exit(Output.status(3))
  }

  /// Reports an error that shows only in the run: prints the trace so far, and ends the process.
  func fail(_ line: Int, _ text: String) -> Never {
    Output.write(trace.finish(collapsingIdleWakes: scenario.settings.collapsesIdleWakes))
    Output.complain("\(file):\(line): error: \(text)")
    _exit(2)
  }

  // MARK: Tracing

  func emit(
    _ text: String, activity: RunLoop.Activity = [], group: Trace.Line.Group = .none, on thread: ScenarioThread?
  ) {
    let isTaken = trace.append(Trace.Line(text: (thread?.prefix ?? "") + text, activity: activity, group: group))
    if !isTaken { fail(thread?.line ?? 0, "the trace has more than \(Limits.traceLines) lines") }
  }

  /// Returns ` at=N`, the time since the scenario's start.
  func stamp() -> String {
    " at=\(time.bucket(zero.withLock { $0 }.duration(to: .now)))"
  }

  func name(of loop: RunLoop) -> String {
    threads.first { $0.loopIdentity == ObjectIdentifier(loop) }?.name ?? "?"
  }

  // MARK: Callouts

  /// Runs the callout of an item: counts it, traces it, and executes the rules.
  func callout(_ record: ItemRecord, _ label: String) {
    let numbers = record.beginCall([])
    defer { record.endCall() }
    let thread = directory.current
    if !record.declaration.isQuiet {
      let mode = ModeName.traced(RunLoop.current.currentMode)
      emit("\(label) \(record.name) mode=\(mode)\(record.declaration.isStamped ? stamp() : "")", on: thread)
    }
    for rule in record.rules where rule.calls.contains(numbers.total) { execute(rule.actions, on: thread) }
  }

  func observerCallout(_ record: ItemRecord, _ activity: RunLoop.Activity) {
    let numbers = record.beginCall(activity)
    defer { record.endCall() }
    let thread = directory.current
    if scenario.settings.tracesObservers && !record.declaration.isQuiet {
      let mode = ModeName.traced(RunLoop.current.currentMode)
      let stamp = record.declaration.isStamped ? stamp() : ""
      emit(
        "observer \(record.name) \(ActivityName.name(of: activity)) mode=\(mode)\(stamp)", activity: activity,
        on: thread)
    }
    for rule in record.rules {
      if let restriction = rule.activity {
        guard restriction.contains(activity), rule.calls.contains(numbers.ofActivity) else { continue }
      } else {
        guard rule.calls.contains(numbers.total) else { continue }
      }
      execute(rule.actions, on: thread)
    }
  }
}
