import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

/// All child sources of this process share one hub. The source that takes a child's exit status delivers it to the
/// others that wait for the child.
final class ChildHub: ProcessWideObject, @unchecked Sendable {
  let lock = Lock()
  var forkGeneration: UInt32 { lock.forkGeneration }
  /// The processes that sources wait for, by number. Guarded by `lock`.
  private var processes: [Int32: [ChildProcess]] = [:]

  private static let shared = ProcessWide<ChildHub>()
  private static let forbidsDescriptors = Atomic<Bool>(getenv("RUNLOOPKIT_NO_PIDFD") != nil)

  static var usesDescriptors: Bool { !forbidsDescriptors.load(ordering: .relaxed) }
  static func forbidDescriptors(_ forbids: Bool) { forbidsDescriptors.store(forbids, ordering: .relaxed) }

  static var current: ChildHub { shared.current(ChildHub.init) }

  func open(_ processID: Int32) throws(RunLoopError) -> ChildProcess {
    // The lock is held until the new object is in the table. Otherwise the object would miss an exit status that
    // another thread takes meanwhile.
    try lock.withLock { () throws(RunLoopError) in
      let process = try ChildProcess(processID, self)
      if let same = processes[processID]?.first(where: { $0.isThere }) { process.identity = same.identity }
      processes[processID, default: []].append(process)
      return process
    }
  }

  func remove(_ process: ChildProcess) {
    guard lock.forkGeneration == Kernel.forkGeneration else { return }
    lock.withLock {
      processes[process.processID]?.removeAll { $0 === process }
      if processes[process.processID]?.isEmpty == true { processes[process.processID] = nil }
    }
  }

  /// Stores the status in all objects of the process. An object with the same number and another identity stands for
  /// another process: an earlier one, for which other code has waited, or a later one. Call it under the lock.
  func deliver(_ status: RunLoop.ExitStatus, of process: ChildProcess) {
    process.learn(status)
    for other in processes[process.processID] ?? [] where other.identity === process.identity { other.learn(status) }
  }
}

extension RunLoop {
  /// Makes child sources that are created after the call work without pidfds, for tests.
  package static func forbidProcessDescriptors(_ forbids: Bool) { ChildHub.forbidDescriptors(forbids) }
}
