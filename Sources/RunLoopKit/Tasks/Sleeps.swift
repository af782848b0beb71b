/// The sleeps of tasks on one loop's timers.
struct Sleeps: Sendable {
  let loop: RunLoop
  let mode: RunLoop.Mode

  func now<Moment: RunLoop.ClockInstant>() -> Moment { Moment(nanoseconds: loop.kernel.now(Moment.clock)) }

  nonisolated(nonsending) func sleep(until deadline: some RunLoop.ClockInstant, _ tolerance: Duration?) async throws {
    try await Resumption<Void>.wait { task in
      let sleeper = Sleeper(task, on: loop)
      let timer = RunLoop.Timer(fireDate: deadline) { _ in sleeper.wake() }
      timer.label = "sleep of a task"
      timer.endsWithItsLoop = true
      if let tolerance { timer.tolerance = tolerance }
      do {
        try loop.add(timer, to: mode)
      } catch {
        task.settle(.failure(error))  // before the timer releases the sleeper
        throw error
      }
      // The loop alone holds the timer, and that the sleeper, which tells of its end.
      return { [weak timer] in
        timer?.invalidate()
        return false
      }
    }
  }
}

/// A task that sleeps. Only its timer's closure holds it: if that is released before the date, nobody else will wake
/// the task.
private final class Sleeper: Sendable {
  private let task: Resumption<Void>
  private let loop: RunLoop

  init(_ task: Resumption<Void>, on loop: RunLoop) {
    self.task = task
    self.loop = loop
  }

  func wake() { task.settleUnlessCalledOff(()) }

  deinit {
    if loop.isInThisProcess { task.lose(loop.hasEnded ? loop.endedError : .invalidItem("the timer of a sleep")) }
  }
}
