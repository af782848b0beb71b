internal import RunLoopLibc
internal import Synchronization

/// Runs the jobs of executors whose loop's thread has ended: a thread of its own, made with the first such job and then
/// kept.
final class EndedLoops: ProcessWideObject {
  let forkGeneration = Kernel.forkGeneration
  private static let shared = ProcessWide<EndedLoops>()

  private struct Job {
    let job: PendingJob
    let executor: RunLoop.Executor
  }

  private let service = ServiceThread("rl-ended-loops")
  /// Guarded by the service's lock, as what follows.
  nonisolated(unsafe) private var waiting = Row<Job>()
  /// The thread that will take what waits, or is doing so: also while a job runs the thread's own loop.
  nonisolated(unsafe) private var server: RunLoop.Thread?
  nonisolated(unsafe) private var isTryingAgain = false
  nonisolated(unsafe) private var hasReportedWaiting = false

  /// - Thread: Any. No lock is held.
  static func run(_ job: PendingJob, of executor: RunLoop.Executor) {
    queue(job, of: executor)
    serve()
  }

  /// The same in two steps. - Thread: Any; an executor's lock may be held.
  static func queue(_ job: PendingJob, of executor: RunLoop.Executor) {
    let this = shared.current(EndedLoops.init)
    this.service.lock.withLock { this.waiting.append(Job(job: job, executor: executor)) }
  }

  /// - Thread: Any. No lock is held.
  static func serve() { shared.existing?.serveIfWanted() }

  /// Adds a timer to the thread's loop. False if there is no such thread to be had, or no room for the timer.
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
      guard let isFirst = begin(on: thread) else { continue }  // replaced meanwhile
      guard isFirst else { return }
      do {
        return try thread.perform { self.runJobs() }
      } catch {
        // A job has ended the thread, and it has no loop any more: another one is made.
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

  /// False if it serves already; nil if it is not the thread any more.
  private func begin(on thread: RunLoop.Thread) -> Bool? {
    service.lock.withLock {
      guard service.latest?.thread === thread else { return nil }
      defer { server = thread }
      return server !== thread
    }
  }

  /// As many as an executor runs in one pass; the others in the next one, so that timers have their turn.
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

  /// A job has ended the thread: another thread runs the jobs that are left.
  fileprivate func threadHasEnded(_ loop: RunLoop) {
    if let latest = service.lock.withLock({ service.latest }), latest.loop === loop { forget(latest.thread) }
    serveIfWanted()  // also if another one has taken its place: that was for a timer, and serves nothing yet
  }

  /// The system has no thread now: looks again soon, by whatever thread the tasks of this process have.
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

  /// Nil if the system has no thread for it.
  private func running() -> ServiceThread.Running? {
    try? service.running { loop in
      loop.lock.withLock { loop.state.companions.append(EndOfThread(of: self, loop)) }
    }
  }
}

/// Reports the end of the thread, which only a job can cause.
private final class EndOfThread: LoopCompanion {
  private let jobs: EndedLoops
  /// It holds this object.
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
