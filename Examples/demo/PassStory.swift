import Glibc
import RunLoopKit
import Synchronization

extension Demo {
  /// The steps of a pass, with the letters of rule 7 (docs/semantics.md), printed while one run makes three passes.
  struct PassStory: Story {
    let name = "pass"
    let title = "the steps of a pass, as they happen"

    /// What the rules of the model say will be seen.
    private let told: [Step] = [
      .entry,
      .beforeTimers, .beforeSources, .block, .beforeWaiting, .asleep, .afterWaiting, .port,
      .beforeTimers, .beforeSources, .source,
      .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .timer,
      .exit,
    ]

    func tell(on stage: Stage) throws -> Outcome {
      stage.say(
        "One observer of every activity, a block, a source, a port and a timer in one run of the default mode. The "
          + "letters are those of rule 7; steps that a pass does not need are left out.")
      let loop = RunLoop.current
      let counter = try EventCounter()
      let journal = Journal(stage: stage)

      let observer = RunLoop.Observer(.all) { _, activity in journal.notified(activity) }
      let source = RunLoop.Source { _ in journal.happened(.source) }
      let timer = RunLoop.Timer(fireDate: .distantFuture) { _ in
        journal.happened(.timer)
        RunLoop.current.stop()
      }
      // What the port's callout sets up decides the rest: pass two performs the source, pass three waits for the timer.
      let port = try RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in
        journal.happened(.port)
        source.signal()
        timer.fireDate = RunLoop.Instant.now.advanced(by: .milliseconds(60))
      }
      let items = [observer, source, timer, port]
      defer { items.forEach { $0.invalidate() } }
      for item in items { try loop.add(item) }
      try loop.enqueue(in: .default) { journal.happened(.block) }

      let friend = try Worker {
        Demo.wait { loop.isWaiting }
        journal.happened(.asleep)
        counter.add(1)
      }
      let result = try loop.run(for: patience)
      friend.join()

      let (seen, slept) = journal.read()
      var outcome = Outcome()
      outcome.expect("the order is the order that was told", seen == told, seen: firstDifference(seen))
      outcome.expect("the timer's stop() ended the run", .stopped, seen: result)
      outcome.expect("the loop took the port's count before its callout", 0, seen: counter.take())
      outcome.figure = "\(seen.count) steps in 3 passes, \(described(slept)) of them asleep"
      return outcome
    }

    private func firstDifference(_ seen: [Step]) -> String {
      if seen == told { return "\(seen.count) of \(told.count) steps" }
      let index = zip(seen, told).enumerated().first { $1.0 != $1.1 }?.offset ?? min(seen.count, told.count)
      let found = index < seen.count ? "\(seen[index])" : "the end"
      let wanted = index < told.count ? "\(told[index])" : "the end"
      return "as event \(index + 1) \(found), not \(wanted)"
    }
  }

  private enum Step: String {
    case entry = "    entry: observers are notified that the run begins"
    case beforeTimers = "(b) before timers: observers are notified that timers will be looked at"
    case beforeSources = "(c) before sources: observers are notified that sources are next"
    case block = "(d) a block that was queued runs"
    case source = "(e) the signalled source is performed; so this pass will not sleep"
    case beforeWaiting = "(h) before waiting: the last chance to finish work"
    case asleep = "(i) asleep. Another thread sees it and adds 1 to the eventfd"
    case afterWaiting = "(k) after waiting: awake"
    case port = "(l) the port is served; it signals the source, sets the timer"
    case timer = "(l) the timer fires; it asks the run to stop"
    case exit = "    exit: observers are notified that the run is over"
  }

  /// Writes down and prints what happens. Nobody uses step (g) here, the main queue's short cut past the sleep.
  private final class Journal: Sendable {
    private struct State: Sendable {
      var steps: [Step] = []
      var passes = 0
      var fellAsleep: RunLoop.Instant?
      var slept: Duration = .zero
    }

    private let stage: Stage
    private let state = Mutex(State())

    init(stage: Stage) { self.stage = stage }

    func notified(_ activity: RunLoop.Activity) {
      let steps: [RunLoop.Activity: Step] = [
        .entry: .entry, .beforeTimers: .beforeTimers, .beforeSources: .beforeSources, .beforeWaiting: .beforeWaiting,
        .afterWaiting: .afterWaiting, .exit: .exit,
      ]
      if let step = steps[activity] { happened(step) }
    }

    func happened(_ step: Step) {
      let now = RunLoop.Instant.now
      let pass = state.withLock { state -> Int? in
        state.steps.append(step)
        if step == .beforeWaiting { state.fellAsleep = now }
        if step == .afterWaiting, let since = state.fellAsleep { state.slept += since.duration(to: now) }
        guard step == .beforeTimers else { return nil }
        state.passes += 1
        return state.passes
      }
      if let pass { stage.put("   " + stage.styled("pass \(pass)", .bold) + character(ofPass: pass)) }
      stage.put("     " + stage.styled(String(step.rawValue.prefix(4)), .cyan) + step.rawValue.dropFirst(4))
    }

    private func character(ofPass number: Int) -> String {
      switch number {
      case 1: ": nothing is ready, so it sleeps, until the port is"
      case 2: ": a source is signalled, so it only looks at the ports"
      case 3: ": nothing is ready, so it sleeps, until the timer is due"
      default: ""
      }
    }

    func read() -> (steps: [Step], slept: Duration) { state.withLock { ($0.steps, $0.slept) } }
  }
}
