internal import RunLoopLibc
internal import Synchronization

/// Runs the jobs of executors whose loop's thread has ended, on a thread that the first such job starts.
final class EndedLoops: ProcessWideObject {
  let forkGeneration = Kernel.forkGeneration
  private static let shared = ProcessWide<EndedLoops>()

  private struct Job {
    let job: PendingJob
    let executor: RunLoop.Executor
  }

  private let service = ServiceThread("rl-ended-loops")
  /// Guarded by the service's lock, like all below.
  nonisolated(unsafe) private var waiting = Row<Job>()
  /// The thread that takes the waiting jobs, or is about to. Nil if there is none; then `serveWaiting` posts `runJobs`
  /// to a thread.
  nonisolated(unsafe) private var server: RunLoop.Thread?
  nonisolated(unsafe) private var isTryingAgain = false
  nonisolated(unsafe) private var hasReportedWaiting = false

  /// - Thread: Any. No lock is held.
  static func run(_ job: PendingJob, of executor: RunLoop.Executor) {
    queue(job, of: executor)
    serve()
  }

  /// Queues a job, which runs after a call of `serve`. - Thread: Any; an executor's lock may be held.
  static func queue(_ job: PendingJob, of executor: RunLoop.Executor) {
    let this = shared.current(EndedLoops.init)
    this.service.lock.withLock { this.waiting.append(Job(job: job, executor: executor)) }
  }

  /// - Thread: Any. No lock is held.
  static func serve() { shared.existing?.serveIfWanted() }

  /// Adds a timer to the loop of the thread for these jobs. Returns false if the thread cannot be started or the timer
  /// cannot be added.
  static func add(_ timer: RunLoop.Timer) -> Bool { shared.current(EndedLoops.init).add(timer) }

  static var isCurrentThread: Bool { shared.existing?.isCurrentThread ?? false }

  private var isCurrentThread: Bool { service.current?.loop.isCurrent ?? false }

  private func add(_ timer: RunLoop.Timer) -> Bool {
    while let running = running() {
      do {
        try running.loop.add(timer)
        return true
      } catch RunLoopError.loopEnded {
        forget(running.thread)
      } catch {
        return false
      }
    }
    return false
  }

  private func serveIfWanted() { if service.lock.withLock({ !waiting.isEmpty }) { serveWaiting() } }

  private func serveWaiting() {
    while let thread = running()?.thread {
      guard let isFirst = begin(on: thread) else { continue }  // another thread has replaced it
      guard isFirst else { return }
      do {
        return try thread.perform { self.runJobs() }
      } catch {
        // This thread's loop has ended. The next round starts another thread.
        forget(thread)
      }
    }
    reportWaitingOnce()
    tryAgainLater()
  }

  private func reportWaitingOnce() {
    let isFirst = service.lock.withLock {
      defer { hasReportedWaiting = true }
      return !hasReportedWaiting
    }
    guard isFirst else { return }
    Diagnosis.warn("jobs of a run loop that has ended wait until a thread can be started for them")
  }

  /// Makes `thread` the server. False if it is the server already; nil if another thread has replaced it.
  private func begin(on thread: RunLoop.Thread) -> Bool? {
    service.lock.withLock {
      guard service.latest?.thread === thread else { return nil }
      defer { server = thread }
      return server !== thread
    }
  }

  /// Runs as many jobs as an executor runs in one pass. The others run in the next pass, after the due timers.
  private func runJobs() {
    for _ in 0..<RunLoop.Executor.jobsPerPass {
      guard forkGeneration == Kernel.forkGeneration, let next = takeFirst() else { return }
      next.executor.run(next.job)
    }
    guard forkGeneration == Kernel.forkGeneration, let thread = service.lock.withLock({ server }) else { return }
    do {
      try thread.perform { self.runJobs() }
    } catch {
      forget(thread)
      serveIfWanted()
    }
  }

  private func takeFirst() -> Job? {
    service.lock.withLock {
      if let next = waiting.takeFirst() { return next }
      waiting.trim()
      server = nil
      return nil
    }
  }

  private func forget(_ old: RunLoop.Thread) {
    service.lock.withLock {
      service.forget(old)
      if server === old { server = nil }
    }
  }

  /// Called when the thread's loop has ended. Another thread runs the remaining jobs.
  fileprivate func threadHasEnded(_ loop: RunLoop) {
    if let latest = service.lock.withLock({ service.latest }), latest.loop === loop { forget(latest.thread) }
    serveIfWanted()  // another thread may run already, for a timer, but nothing has asked it to run jobs
  }

  /// Tries again after 100 ms, in a task, because the system could not create a thread.
  private func tryAgainLater() {
    let isFirst = service.lock.withLock {
      defer { isTryingAgain = true }
      return !isTryingAgain
    }
    guard isFirst else { return }
    Task.detached { [self] in
      try? await Task.sleep(for: .milliseconds(100), clock: .continuous)
      service.lock.withLock { isTryingAgain = false }
      serveIfWanted()
    }
  }

  /// Returns the running thread, and starts one if there is none. Returns nil if the system cannot create one.
  private func running() -> ServiceThread.Running? {
    try? service.running { loop in
      loop.lock.withLock { loop.state.companions.append(EndOfThread(of: self, loop)) }
    }
  }
}

/// Notices the end of the thread's loop.
private final class EndOfThread: LoopCompanion {
  private let jobs: EndedLoops
  /// The loop retains this object.
  private unowned let loop: RunLoop

  init(of jobs: EndedLoops, _ loop: RunLoop) {
    self.jobs = jobs
    self.loop = loop
  }

  func workCount(for mode: ModePointer) -> Int { 0 }

  var workPerPass: Int { 1 }

  func loopQuits() {}

  func runWasLeft(_ run: UInt) {}

  func loopHasEnded() { jobs.threadHasEnded(loop) }
}
