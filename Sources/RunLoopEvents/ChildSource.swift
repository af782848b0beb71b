internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

extension RunLoop {
  /// Calls a closure once, when a process has ended. After the call the source is invalid [RLK-CHILD-1].
  ///
  /// The source waits only for this process, never for "any child", so it takes no exit status from other code
  /// [RLK-CHILD-6]. It does not mistake a later process of the same number for this one [RLK-CHILD-13, RLK-CHILD-14].
  /// The closure is also called if the child has ended before the source was created or added [RLK-CHILD-3]. If other
  /// code waits for any child (`waitpid(-1)`) and takes the exit status, the closure gets `.unknown` [RLK-CHILD-5].
  /// Several sources for one child each get its status [RLK-CHILD-7]. For a process that is no child the closure gets
  /// `.unknown` when the process ends [RLK-CHILD-10].
  ///
  /// The source takes its child's exit status, so that no zombie is left. It does so only while it is valid and a loop
  /// runs a mode with it. If the source is invalidated earlier, the program must wait for the child itself
  /// [RLK-CHILD-8]. If the program ignores SIGCHLD, the kernel keeps no exit status: the closure gets `.unknown`,
  /// and no source can be created for a child that has ended.
  ///
  /// Source: pidfd_open(2), waitid(2). Without pidfds (before Linux 5.3, if a filter forbids them, or if the
  /// environment has `RUNLOOPKIT_NO_PIDFD`) SIGCHLD notifies the source of the end. All threads must then block
  /// SIGCHLD, as for a `SignalSource` (`RunLoop.Signal.block`), the program must not ignore it, and the process must be
  /// a child [RLK-EVENT-11, RLK-SIGNAL-20]. The source recognises a later process of the same number by its start time
  /// (`/proc/PID/stat`). It mistakes that process for its own in one case only: between two system calls of `send` or
  /// of the loop, other code waits for the child, and the system uses the number again.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let child = try RunLoop.ChildSource.spawn("sh", arguments: ["-c", "exit 3"])
  /// let source = try RunLoop.ChildSource(processID: child) { _, status in
  ///   print(status)  // prints exited with code 3
  ///   loop.stop()
  /// }
  /// try loop.add(source)
  /// try loop.run()
  /// ```
  public final class ChildSource: EventSource, EventService, @unchecked Sendable {
    /// What becomes of the child when the source is invalidated.
    public enum Ownership: Sendable {
      /// Nothing: the child lives on when the source is invalidated or destroyed [RLK-CHILD-31].
      case borrowed
      /// If the source is invalidated or destroyed before its closure was called, it ends the child with SIGKILL and
      /// takes its exit status [RLK-CHILD-30]. So the child does not outlive the source, but processes that the child
      /// has started do. If this process crashes, the child goes on running (see `PR_SET_PDEATHSIG` of prctl(2)).
      case killedWhenInvalidated
    }

    @exclusivity(unchecked) final var body: Body
    /// The number of the process.
    public let processID: Int32
    private let process: ChildProcess
    private let isDelivered = Atomic<Bool>(false)
    private let ownership: Ownership

    /// - Parameters:
    ///   - processID: At least 1.
    ///   - ownership: With `.killedWhenInvalidated`, invalidating the source blocks until the kernel has ended the
    ///     child, which usually takes well under a millisecond. Other sources for the child, and code that waits for
    ///     it, notice its end [RLK-CHILD-32].
    ///   - order: Ignored: events are served in the order of readiness.
    ///   - body: Called once, on the thread of the loop that runs, with no lock held.
    /// - Throws: A `RunLoopError.system`: `ESRCH` if there is no such process (any more), `EINVAL` for a number
    ///   below 1 [RLK-CHILD-9]; without pidfds `ECHILD` if it is no child, and `ENOENT` if there is no `/proc`;
    ///   `EMFILE`, `ENFILE`, `ENOMEM`.
    /// - Complexity: One system call, eight without pidfds.
    public convenience init(
      processID: Int32, ownership: Ownership = .borrowed, order: Int = 0,
      _ body: @escaping @Sendable (ChildSource, ExitStatus) -> Void
    ) throws {
      try self.init(processID: processID, ownership: ownership, order: order, onlyLoop: nil, unchecked: body)
    }

    init(
      processID: Int32, ownership: Ownership = .borrowed, order: Int, onlyLoop: RunLoop?,
      unchecked body: @escaping (ChildSource, ExitStatus) -> Void
    ) throws {
      self.body = Body(body)
      self.ownership = ownership
      self.processID = processID
      process = try ChildHub.current.open(processID)
      try super.init(process.owned, order: order, onlyLoop: onlyLoop)
    }

    /// How the child has ended; nil until a source for it has taken its exit status.
    public var exitStatus: ExitStatus? { process.exitStatus }

    /// Sends a signal to the process, and never to a later process of the same number, nor to processes that it has
    /// started.
    ///
    /// - Throws: A `RunLoopError.system`: `ESRCH` if the process has ended and some code has waited for it, `EPERM`,
    ///   `EINVAL`; `.invalidItem` once the source is invalid; `.forked`.
    /// - Thread: Any. - SeeAlso: pidfd_send_signal(2).
    public func send(_ signal: Signal) throws {
      guard !isForked else { throw RunLoopError.forked }
      guard isValid, process.owned.hold() else { throw RunLoopError.invalidItem(nameInErrors) }
      defer { process.owned.release() }
      try process.send(signal)
    }

    package func hasEnded() {
      endOwned()
      process.detach()
    }

    /// Ends the child if the source owns it. Call it while the descriptors are open.
    private func endOwned() {
      if ownership == .killedWhenInvalidated, !isForked { process.kill() }
    }

    package func dropClosure() {
      var released = Body { _, _ in }
      swap(&body, &released)
    }

    package func hasJoined() { if process.usesSignals { SignalMasks.check(.child) } }

    package func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
      guard let status = process.takeExit() else { return false }
      // If another call has set `isDelivered`, the callout runs in an enclosing run or in another loop.
      guard !isDelivered.exchange(true, ordering: .acquiringAndReleasing) else { return false }
      __RUNLOOPKIT_IS_CALLING_OUT_TO_A_CHILD_SOURCE__(self, status)
      invalidate()
      return true
    }

    deinit {
      if isValid { endOwned() }
      process.detach()
    }

    package var summary: String {
      "<child source\(labelText) order \(order), process \(processID), \(isValid ? "valid" : "invalid")>"
    }
  }
}

/// The source's closure, which a callout borrows: see Items/Callouts.swift.
extension RunLoop.ChildSource {
  struct Body: ~Copyable {
    private let function: (RunLoop.ChildSource, RunLoop.ExitStatus) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.ChildSource, RunLoop.ExitStatus) -> Void) { self.function = function }

    borrowing func call(_ item: RunLoop.ChildSource, _ status: RunLoop.ExitStatus) { function(item, status) }
  }
}
