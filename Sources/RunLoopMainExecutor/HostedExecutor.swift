import RunLoopKit
internal import RunLoopLibc

/// The main actor's executor in a process whose main thread belongs to a host. The host runs the jobs by `drain`.
final class HostedExecutor: HostedMainActor, @unchecked Sendable {
  private let thread = pthread_self()
  private let wake: @Sendable () -> Void
  private let lock = Lock()
  /// `lock` guards it, and the next three properties.
  private var incoming = JobQueue()
  private var isDraining = false
  /// A job has called `drain`, which does nothing inside of a job.
  private var hasRefused = false
  /// How many runs of the main loop watch for jobs that wait too long. `enqueue` wakes the main loop for these runs.
  private var watchCount = 0
  /// The jobs that were queued when `drain` began. Only `drain` uses it.
  private var batch = JobQueue()

  /// The host's thread calls it.
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

  /// The host's thread calls it.
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

  /// Returns false inside of a job: no other job runs before that one ends.
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

  /// Returns true if the host must be notified again: its call of `drain` inside of a job did nothing, and jobs wait.
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
