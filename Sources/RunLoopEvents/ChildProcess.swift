internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

/// A process for which a child source waits: by a pidfd, or, without pidfds, by SIGCHLD and the process's number.
final class ChildProcess: @unchecked Sendable {
  private enum Access {
    case descriptor(OwnedDescriptor)
    /// Another process may get the number later. The start time tells the two apart.
    case number(SignalReceiver, start: UInt64)
  }

  /// All sources of one process share an identity. Sources of a later process of the same number have another one.
  final class Identity {}

  let processID: Int32
  private let hub: ChildHub
  private let access: Access
  /// Set once, under the hub's lock.
  var identity = Identity()
  /// Guarded by the hub's lock.
  private var status: RunLoop.ExitStatus?

  init(_ processID: Int32, _ hub: ChildHub) throws(RunLoopError) {
    self.processID = processID
    self.hub = hub
    let isAsked = ChildHub.usesDescriptors && rlc_kit_has_process_descriptors()
    let descriptor = isAsked ? rlc_process_open(processID) : -ENOSYS
    if rlc_kit_refuses_process_descriptors(descriptor), processID > 0 || !isAsked {
      let receiver = try Self.receiver(for: processID)
      let (start, status) = Self.start(of: processID)
      guard let start else {
        let call = RunLoopError.failedCall
        receiver.detach()
        throw .system(-status, call: call, Self.unreadable(processID))
      }
      access = .number(receiver, start: start)
      if isAsked { rlc_kit_does_without_process_descriptors() }
    } else {
      try RunLoopError.check(descriptor, "pidfd_open", Self.subject(processID, -descriptor))
      access = .descriptor(OwnedDescriptor(descriptor))
    }
  }

  private static func receiver(for processID: Int32) throws(RunLoopError) -> SignalReceiver {
    guard processID > 0 else { throw .system(EINVAL, subject(processID, EINVAL)) }
    let receiver = try SignalReceiver(SignalSet([.child]), order: 0)
    receiver.join()
    // The process's SIGCHLD may have come before this receiver existed, so the first pass checks the process.
    receiver.poke()
    var info = siginfo_t()
    guard waitid(P_PID, id_t(processID), &info, WEXITED | WNOHANG | WNOWAIT) == 0 else {
      let error = errno
      receiver.detach()
      let words = "process \(processID)"
      let detail = "is no child of this one; only with pidfds others can be waited for"
      throw .system(error, call: "waitid", error == ECHILD ? "\(words) \(detail)" : words)
    }
    return receiver
  }

  private static func subject(_ processID: Int32, _ error: Int32) -> String {
    if processID <= 0 { return "\(processID) is no process's number" }
    guard error == ESRCH else { return "process \(processID)" }
    return "there is no process \(processID); if SIGCHLD is ignored, a child is gone as soon as it ends"
  }

  /// The start time of the process with that number, in the kernel's ticks since the machine's start.
  private static func start(of processID: Int32) -> (ticks: UInt64?, status: Int32) {
    var ticks: UInt64 = 0
    let status = rlc_process_start(processID, &ticks)
    return (status < 0 ? nil : ticks, status)
  }

  /// True until some code has waited for the process: until then no other process can get its number. Call it under the
  /// hub's lock.
  var isThere: Bool {
    guard status == nil else { return false }
    switch access {
    case .descriptor(let owned):
      guard owned.hold() else { return false }
      defer { owned.release() }
      return rlc_process_send(owned.fileDescriptor, 0) != -ESRCH
    // If /proc cannot be read, for example for lack of a descriptor, the number counts as this process's.
    case .number(_, let start): return (try? hasNumber(since: start)) ?? true
    }
  }

  /// False if no process has the number any more, or another process has it.
  private func hasNumber(since start: UInt64) throws(RunLoopError) -> Bool {
    let (ticks, status) = Self.start(of: processID)
    if let ticks { return ticks == start }
    let call = RunLoopError.failedCall
    if status == -ESRCH || status == -ENOENT && RunLoopLibc.access("/proc/self/stat", F_OK) == 0 { return false }
    throw .system(-status, call: call, Self.unreadable(processID))
  }

  private static func unreadable(_ processID: Int32) -> String {
    "/proc/\(processID)/stat must be readable where there are no pidfds"
  }

  var owned: OwnedDescriptor {
    switch access {
    case .descriptor(let owned): owned
    case .number(let receiver, _): receiver.port.owned
    }
  }

  var usesSignals: Bool { if case .number = access { true } else { false } }

  var exitStatus: RunLoop.ExitStatus? { hub.lock.withLock { status } }

  /// Takes the exit status; nil if the process still runs. Call it while `owned` is held.
  func takeExit() -> RunLoop.ExitStatus? {
    if case .number(let receiver, _) = access { receiver.acknowledge() }
    return hub.lock.withLock { takeExitLocked() }
  }

  func send(_ signal: RunLoop.Signal) throws(RunLoopError) {
    // Child sources take exit statuses only under this lock, so they do not free the number meanwhile.
    try hub.lock.withLock { () throws(RunLoopError) in
      guard status == nil else {
        throw .system(ESRCH, "process \(processID) has ended")
      }
      switch access {
      case .descriptor(let owned):
        try RunLoopError.check(
          rlc_process_send(owned.fileDescriptor, signal.rawValue), "pidfd_send_signal",
          "\(signal) to process \(processID)")
      case .number(_, let start):
        // If other code has waited for the process, another process may have its number.
        guard try hasNumber(since: start) else { throw .system(ESRCH, "process \(processID) has ended") }
        try RunLoopError.checkErrno(
          RunLoopLibc.kill(processID, signal.rawValue), "kill", "\(signal) to process \(processID)")
      }
    }
  }

  /// Ends the process and takes its exit status, unless the status is known. Blocks until the process has ended.
  func kill() {
    guard exitStatus == nil else { return }
    do throws(RunLoopError) {
      try send(.kill)
    } catch {
      return  // it has ended, or is another user's
    }
    // The wait leaves the exit status to `takeExit`, which delivers it to all sources for the process.
    switch access {
    case .descriptor(let owned): _ = rlc_kit_wait_for_process(owned.fileDescriptor, processID)
    case .number: _ = rlc_kit_wait_for_process(-1, processID)
    }
    _ = takeExit()
  }

  /// Called when the source is invalid or destroyed.
  func detach() {
    hub.remove(self)
    if case .number(let receiver, _) = access { receiver.detach() }
  }

  private func takeExitLocked() -> RunLoop.ExitStatus? {
    if let status { return status }
    var exit = rlc_process_exit()
    let taken: Int32
    switch access {
    case .descriptor(let owned): taken = rlc_process_take_exit(owned.fileDescriptor, processID, &exit)
    // `isThere` keeps this from taking the exit status of a later child of the same number.
    case .number: taken = isThere ? rlc_process_take_exit(-1, processID, &exit) : -ECHILD
    }
    if taken == 0 { return nil }
    hub.deliver(taken > 0 ? RunLoop.ExitStatus(exit) : .unknown, of: self)
    return status
  }

  /// Stores the status, unless one is known. Call it under the hub's lock.
  func learn(_ status: RunLoop.ExitStatus) { if self.status == nil { self.status = status } }
}
