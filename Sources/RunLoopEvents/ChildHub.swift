import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

/// What the child sources of one process share: who takes a child's exit tells the others that wait for it.
final class ChildHub: ProcessWideObject, @unchecked Sendable {
  let lock = Lock()
  var forkGeneration: UInt32 { lock.forkGeneration }
  /// By number. Guarded by `lock`.
  private var processes: [Int32: [ChildProcess]] = [:]

  private static let shared = ProcessWide<ChildHub>()
  private static let forbidsDescriptors = Atomic<Bool>(getenv("RUNLOOPKIT_NO_PIDFD") != nil)

  static var usesDescriptors: Bool { !forbidsDescriptors.load(ordering: .relaxed) }
  static func forbidDescriptors(_ forbids: Bool) { forbidsDescriptors.store(forbids, ordering: .relaxed) }

  static var current: ChildHub { shared.current(ChildHub.init) }

  func open(_ processID: Int32) throws(RunLoopError) -> ChildProcess {
    // All under the lock: this object would miss an exit status that is taken meanwhile.
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

  /// Under the lock. Others of the same number may wait for a process that other code has waited for, or for a later
  /// one.
  func deliver(_ status: RunLoop.ExitStatus, of process: ChildProcess) {
    process.learn(status)
    for other in processes[process.processID] ?? [] where other.identity === process.identity { other.learn(status) }
  }
}

extension RunLoop {
  /// Tests the way without pidfds: for child sources made from now on.
  package static func forbidProcessDescriptors(_ forbids: Bool) { ChildHub.forbidDescriptors(forbids) }
}
