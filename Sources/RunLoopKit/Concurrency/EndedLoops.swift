internal import RunLoopLibc
internal import Synchronization

/// Runs the jobs of executors whose loop's thread has ended: a thread of its own, made with the first such job and then
/// kept.
final class EndedLoops: ProcessWideObject {
  let forkGeneration = Kernel.forkGeneration
  private static let shared = ProcessWide<EndedLoops>()

  private struct Job {
    let job: UnownedJob
    let executor: RunLoop.Executor
  }

  private let lock = Lock()
  /// Guarded by `lock`, as what follows. Nil before the first job, and if the system had no thread for it.
  nonisolated(unsafe) private var thread: RunLoop.Thread?
  nonisolated(unsafe) private var waiting = Row<Job>()
  /// The thread will take what waits, or is doing so: also while a job runs the thread's own loop.
  nonisolated(unsafe) private var isServed = false

  init() {}

  /// - Thread: Any. No lock is held.
  static func run(_ job: UnownedJob, of executor: RunLoop.Executor) {
    shared.current.append(Job(job: job, executor: executor))
  }

  /// Adds a timer to the thread's loop. False if there is no such thread to be had, or no room for the timer.
  static func add(_ timer: RunLoop.Timer) -> Bool { shared.current.add(timer) }

  static var isCurrentThread: Bool { shared.existing?.isCurrentThread ?? false }

  private var isCurrentThread: Bool { lock.withLock { thread }?.loop?.isCurrent ?? false }

  private func append(_ job: Job) {
    lock.withLock { waiting.append(job) }
    serveWaiting()
  }

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

  private func serveWaiting() {
    while let thread = currentThread(), begin(on: thread) {
      do {
        return try thread.perform { self.runJobs() }
      } catch {
        // A job has ended the thread, and it has no loop any more: another one is made.
        forget(thread)
      }
    }
  }

  /// False if it serves already.
  private func begin(on thread: RunLoop.Thread) -> Bool {
    lock.withLock {
      guard self.thread === thread, !isServed else { return false }
      isServed = true
      return true
    }
  }

  private func runJobs() {
    while let next = takeFirst() {
      next.job.runSynchronously(
        isolatedTo: next.executor.asUnownedSerialExecutor(), taskExecutor: next.executor.asUnownedTaskExecutor())
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
    guard let thread = lock.withLock({ thread }), thread.loop === loop else { return }
    forget(thread)
    if lock.withLock({ !waiting.isEmpty }) { serveWaiting() }
  }

  private func currentThread() -> RunLoop.Thread? {
    if let thread = lock.withLock({ thread }) {
      if thread.isRunning { return thread }
      forget(thread)
    }
    let made = RunLoop.Thread(name: "rl-ended-loops")
    do {
      try made.startForProcess()
    } catch {
      StandardError.write(
        "RunLoopKit: jobs of a run loop that has ended wait, since no thread can be started for them: \(error)\n")
      return nil
    }
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

  func loopHasEnded() { jobs.threadHasEnded(loop) }
}
