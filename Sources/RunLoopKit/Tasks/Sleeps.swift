/// Has tasks sleep on the timers of one loop, in one mode.
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
        task.settle(.failure(error))  // before the sleeper's deinit settles it with another error
        throw error
      }
      // Only the loop retains the timer, and only the timer retains the sleeper. `Sleeper.deinit` notices the loop's
      // end.
      return { [weak timer] in
        timer?.invalidate()
        return false
      }
    }
  }
}

/// A task that sleeps. Only the closure of its timer retains this object. If the closure is released before the date,
/// the timer will never fire, and the deinit resumes the task with an error.
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
