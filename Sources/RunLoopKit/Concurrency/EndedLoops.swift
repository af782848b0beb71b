internal import Glibc
internal import Synchronization

/// Runs the jobs of executors whose loop's thread has ended: a thread of its own, made with the first such job and then
/// kept.
final class EndedLoops: ProcessWideObject {
  let forkGeneration = Kernel.forkGeneration
  private static let shared = ProcessWide<EndedLoops>()

  private let lock = Lock()
  /// Guarded by `lock`. Nil before the first job, and if the system had no thread for it.
  nonisolated(unsafe) private var thread: RunLoop.Thread?
  /// What came while no thread could be made. Guarded by `lock`.
  nonisolated(unsafe) private var waiting: [@Sendable () -> Void] = []

  init() {}

  /// - Thread: Any. No lock is held.
  static func run(_ job: UnownedJob, of executor: RunLoop.Executor) {
    shared.current.append {
      job.runSynchronously(
        isolatedTo: executor.asUnownedSerialExecutor(), taskExecutor: executor.asUnownedTaskExecutor())
    }
  }

  static var isCurrentThread: Bool { shared.existing?.isCurrentThread ?? false }

  private var isCurrentThread: Bool { lock.withLock { thread }?.loop?.isCurrent ?? false }

  private func append(_ work: @escaping @Sendable () -> Void) {
    lock.withLock { waiting.append(work) }
    guard let thread = currentThread() else { return }
    while let next = takeFirst() {
      // It is never told to stop.
      try? thread.perform(block: next)
    }
  }

  private func takeFirst() -> (@Sendable () -> Void)? {
    lock.withLock { waiting.isEmpty ? nil : waiting.removeFirst() }
  }

  private func currentThread() -> RunLoop.Thread? {
    if let thread = lock.withLock({ thread }) { return thread }
    let made = RunLoop.Thread(name: "rl-ended-loops")
    do {
      try made.startForProcess()
    } catch {
      StandardError.write(
        "RunLoopKit: jobs of a run loop that has ended wait, since no thread can be started for them: \(error)\n")
      return nil
    }
    return lock.withLock {
      if thread == nil { thread = made }  // else another one was faster, and this one ends
      return thread
    }
  }
}
