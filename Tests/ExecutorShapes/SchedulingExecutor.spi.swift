@_spi(ExperimentalScheduling) import _Concurrency

final class Shape: SchedulingExecutor, @unchecked Sendable {
  func enqueue(_ job: consuming ExecutorJob) {}
  func enqueue<C: Clock>(
    _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
  ) {}
  func enqueue<C: Clock>(
    _ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C
  ) {}
}

func use(_ executor: any SchedulingExecutor, _ job: UnownedJob) {
  let clock = ContinuousClock()
  executor.enqueue(ExecutorJob(job), after: .seconds(1), tolerance: nil, clock: clock)
  executor.enqueue(ExecutorJob(job), at: clock.now, tolerance: nil, clock: clock)
}
