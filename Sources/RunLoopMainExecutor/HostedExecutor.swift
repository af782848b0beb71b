import RunLoopKit
internal import RunLoopLibc

/// The main actor's executor in a process whose main thread belongs to a host, which runs the jobs by `drain`.
final class HostedExecutor: HostedMainActor, @unchecked Sendable {
  private let thread = pthread_self()
  private let wake: @Sendable () -> Void
  private let lock = Lock()
  /// Guarded by `lock`, as what follows.
  private var incoming = JobQueue()
  private var isDraining = false
  /// A job has drained, in vain.
  private var hasRefused = false
  /// Runs of the main loop that tell of jobs which wait too long.
  private var watchCount = 0
  /// What was there when `drain` began. Used by it alone.
  private var batch = JobQueue()

  /// On the host's thread.
  init(_ wake: @escaping @Sendable () -> Void) { self.wake = wake }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = PendingJob(UnownedJob(job), .ofActor)
    let (isFirst, isWatched) = lock.withLock {
      let isFirst = incoming.isEmpty
      incoming.append(job)
      return (isFirst, isFirst && watchCount > 0)
    }
    if isFirst { wake() }
    if isWatched { RunLoop.main.wakeUp() }
  }

  /// On the host's thread.
  func drain() -> Int {
    guard begin() else { return 0 }
    var count = 0
    while let job = batch.takeFirst() {
      job.job.runSynchronously(on: asUnownedSerialExecutor())
      count += 1
    }
    batch.trim()
    if end() { wake() }
    return count
  }

  /// False inside of a job: no other one runs before that ends.
  private func begin() -> Bool {
    lock.withLock {
      guard !isDraining else {
        hasRefused = true
        return false
      }
      isDraining = true
      swap(&incoming, &batch)
      return true
    }
  }

  /// True if the host has to be told again: it has been told, and was refused.
  private func end() -> Bool {
    lock.withLock {
      isDraining = false
      defer { hasRefused = false }
      return hasRefused && !incoming.isEmpty
    }
  }

  var hasJobs: Bool { lock.withLock { !incoming.isEmpty } }

  func beginWatch() { lock.withLock { watchCount += 1 } }

  func endWatch() { lock.withLock { watchCount -= 1 } }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  var isOnItsThread: Bool { pthread_equal(thread, pthread_self()) != 0 }

  func isIsolatingCurrentContext() -> Bool? { isOnItsThread }

  func checkIsolated() {
    guard !isOnItsThread else { return }
    fatalError("RunLoopKit: this is not the main actor's thread")
  }
}
