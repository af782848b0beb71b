import RunLoopKit
import Synchronization

extension Demo {
  /// A signal is a flag on a source; a wake ends the loop's sleep. Only both together get work done at once.
  struct SignalStory: Story {
    let name = "signal"
    let title = "signalling is not waking"

    private let pause: Duration = .milliseconds(250)
    private let rounds = 2000

    func tell(on stage: Stage) throws -> Outcome {
      stage.say(
        "A worker thread has something for this loop. signal() marks the source and no more; a loop that sleeps "
          + "sleeps on. wakeUp() makes it look. This is deliberate: many signals, then one wake.")
      var outcome = Outcome()
      let delay = try signalThenWake(on: stage, &outcome)
      let perRound = try rally(on: stage, &outcome)
      outcome.figure = "wake to work \(described(delay)), to a loop and back \(described(perRound))"
      return outcome
    }

    // MARK: One worker, one source

    /// What the worker saw while the loop slept, and when it woke it.
    private struct Sighting: Sendable {
      var wasAsleep = false
      var callsBeforeWake = 0
      var passesBeforeWake = 0
      var wokenAt = RunLoop.Instant.now
    }

    private func signalThenWake(on stage: Stage, _ outcome: inout Outcome) throws -> Duration {
      let loop = RunLoop.current
      let calls = Counter()
      let passes = Counter()
      let performedAt = Mutex(RunLoop.Instant.now)
      let source = RunLoop.Source { _ in
        performedAt.withLock { $0 = .now }
        calls.increment()
        RunLoop.current.stop()
      }
      let observer = RunLoop.Observer(.beforeTimers) { _, _ in passes.increment() }
      try loop.add(source)
      try loop.add(observer)
      defer {
        source.invalidate()
        observer.invalidate()
      }

      let sighting = Handover<Sighting>()
      let worker = try Worker { [pause] in
        Demo.wait { loop.isWaiting }
        let passesBefore = passes.value
        stage.note("worker: signal(), ten times, and then nothing for \(described(pause))")
        for _ in 0..<10 { source.signal() }
        Demo.sleep(pause)
        var seen = Sighting()
        seen.wasAsleep = loop.isWaiting
        seen.callsBeforeWake = calls.value
        seen.passesBeforeWake = passes.value - passesBefore
        stage.note("worker: the loop \(seen.wasAsleep ? "is still asleep" : "is awake"); wakeUp()")
        seen.wokenAt = .now
        loop.wakeUp()
        sighting.give(seen)
      }
      let result = try loop.run(for: patience)
      worker.join()
      let seen = sighting.take()
      let delay = seen.wokenAt.duration(to: performedAt.withLock { $0 })
      stage.note("loop: performed the source \(described(delay)) after the wake")

      outcome.expect("the loop slept through ten signals", seen.wasAsleep, seen: seen.wasAsleep ? "asleep" : "awake")
      outcome.expect("passes made for the signals alone", 0, seen: seen.passesBeforeWake)
      outcome.expect("calls before the wake", 0, seen: seen.callsBeforeWake)
      outcome.expect("calls after it: ten signals are one flag", 1, seen: calls.value)
      outcome.expect("the source's stop() ended the run", .stopped, seen: result)
      return delay
    }

    // MARK: Two loops

    /// Two loops hit a ball to each other: signal the other's source, wake the other's loop.
    private func rally(on stage: Stage, _ outcome: inout Outcome) throws -> Duration {
      let home = RunLoop.current
      let opponent = Mutex<Player?>(nil)
      let returns = Counter()
      let rounds = self.rounds
      let ball = RunLoop.Source { _ in
        let other = opponent.withLock { $0 }
        if returns.increment() == rounds {
          other?.loop.stop()
          RunLoop.current.stop()
        } else {
          other?.hit()
        }
      }
      try home.add(ball)
      defer { ball.invalidate() }

      let arrival = Handover<Player?>()
      let worker = try Worker {
        let away = RunLoop.current
        let reply = RunLoop.Source { _ in
          ball.signal()
          home.wakeUp()
        }
        do {
          try away.add(reply)
          arrival.give(Player(loop: away, source: reply))
          try away.run(for: patience)
        } catch {
          endIfShort(error)
          arrival.give(nil)
        }
      }
      opponent.withLock { $0 = arrival.take() }
      stage.note("two loops: \(grouped(rounds)) times there and back, by signal() and wakeUp()")
      let start = RunLoop.Instant.now
      opponent.withLock { $0 }?.hit()
      let result = try home.run(for: patience)
      let took = start.duration(to: .now)
      worker.join()
      outcome.expect(
        "no signal was lost between two loops", returns.value == rounds && result == .stopped,
        seen: "\(grouped(returns.value)) of \(grouped(rounds))")
      return took / max(returns.value, 1)
    }

    private struct Player: Sendable {
      let loop: RunLoop
      let source: RunLoop.Source

      func hit() {
        source.signal()
        loop.wakeUp()
      }
    }
  }
}
