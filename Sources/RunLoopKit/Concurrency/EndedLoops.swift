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

  private let lock = Lock()
  /// Guarded by `lock`, as what follows. Nil before the first job, and if the system had no thread for it.
  nonisolated(unsafe) private var thread: RunLoop.Thread?
  nonisolated(unsafe) private var waiting = Row<Job>()
  /// The thread will take what waits, or is doing so: also while a job runs the thread's own loop.
  nonisolated(unsafe) private var isServed = false
  nonisolated(unsafe) private var isTryingAgain = false
  nonisolated(unsafe) private var hasToldOfWaiting = false

  init() {}

  /// - Thread: Any. No lock is held.
  static func run(_ job: PendingJob, of executor: RunLoop.Executor) {
    queue(job, of: executor)
    serve()
  }

  /// The same in two steps. - Thread: Any; an executor's lock may be held.
  static func queue(_ job: PendingJob, of executor: RunLoop.Executor) {
    let this = shared.current(EndedLoops.init)
    this.lock.withLock { this.waiting.append(Job(job: job, executor: executor)) }
  }

  /// - Thread: Any. No lock is held.
  static func serve() { shared.existing?.serveIfWanted() }

  /// Adds a timer to the thread's loop. False if there is no such thread to be had, or no room for the timer.
  static func add(_ timer: RunLoop.Timer) -> Bool { shared.current(EndedLoops.init).add(timer) }

  static var isCurrentThread: Bool { shared.existing?.isCurrentThread ?? false }

  private var isCurrentThread: Bool { lock.withLock { thread }?.loop?.isCurrent ?? false }

  private func add(_ timer: RunLoop.Timer) -> Bool {
    while let thread = currentThread() {
      guard let loop = thread.loop else {
        forget(thread)
        continue
      }
      do {
        try loop.add(timer)
        return true
      } catch RunLoopError.loopEnded {
        forget(thread)
      } catch {
        return false
      }
    }
    return false
  }

  private func serveIfWanted() { if lock.withLock({ !waiting.isEmpty }) { serveWaiting() } }

  private func serveWaiting() {
    while let thread = currentThread() {
      guard let isFirst = begin(on: thread) else { continue }  // replaced meanwhile
      guard isFirst else { return }
      do {
        return try thread.perform { self.runJobs() }
      } catch {
        // A job has ended the thread, and it has no loop any more: another one is made.
        forget(thread)
      }
    }
    tellOfWaitingOnce()
    tryAgainLater()
  }

  private func tellOfWaitingOnce() {
    let isFirst = lock.withLock {
      defer { hasToldOfWaiting = true }
      return !hasToldOfWaiting
    }
    guard isFirst else { return }
    Diagnosis.warn("jobs of a run loop that has ended wait until a thread can be started for them")
  }

  /// False if it serves already; nil if it is not the thread any more.
  private func begin(on thread: RunLoop.Thread) -> Bool? {
    lock.withLock {
      guard self.thread === thread else { return nil }
      defer { isServed = true }
      return !isServed
    }
  }

  /// As many as an executor runs in one pass; the others in the next one, so that timers have their turn.
  private func runJobs() {
    for _ in 0..<RunLoop.Executor.jobsPerPass {
      guard forkGeneration == Kernel.forkGeneration, let next = takeFirst() else { return }
      next.executor.run(next.job)
    }
    guard forkGeneration == Kernel.forkGeneration, let thread = lock.withLock({ thread }) else { return }
    do {
      try thread.perform { self.runJobs() }
    } catch {
      forget(thread)
      serveIfWanted()
    }
  }

  private func takeFirst() -> Job? {
    lock.withLock {
      if let next = waiting.takeFirst() { return next }
      waiting.trim()
      isServed = false
      return nil
    }
  }

  private func forget(_ old: RunLoop.Thread) {
    lock.withLock {
      guard thread === old else { return }
      thread = nil
      isServed = false
    }
  }

  /// A job has ended the thread: another thread runs the jobs that are left.
  fileprivate func threadHasEnded(_ loop: RunLoop) {
    if let thread = lock.withLock({ thread }), thread.loop === loop { forget(thread) }
    serveIfWanted()  // also if another one has taken its place: that was for a timer, and serves nothing yet
  }

  /// The system has no thread now: looks again soon, by whatever thread the tasks of this process have.
  private func tryAgainLater() {
    let isFirst = lock.withLock {
      defer { isTryingAgain = true }
      return !isTryingAgain
    }
    guard isFirst else { return }
    Task.detached { [self] in
      try? await Task.sleep(for: .milliseconds(100), clock: .continuous)
      lock.withLock { isTryingAgain = false }
      serveIfWanted()
    }
  }

  private func currentThread() -> RunLoop.Thread? {
    if let thread = lock.withLock({ thread }) {
      if thread.isRunning { return thread }
      forget(thread)
    }
    let made = RunLoop.Thread(name: "rl-ended-loops")
    guard (try? made.startForProcess()) != nil else { return nil }
    if let loop = made.loop {
      loop.lock.withLock { loop.state.companions.append(EndOfThread(of: self, loop)) }
    }
    return lock.withLock {
      if thread == nil { thread = made }  // else another one was faster, and this one ends
      return thread
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
