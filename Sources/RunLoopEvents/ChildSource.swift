internal import CRunLoopCore
internal import Glibc
import RunLoopKit
internal import Synchronization

extension RunLoop {
  /// The end of one process: called once, then invalid [RLK-CHILD-1].
  ///
  /// It waits for this process alone, never for "any child", so that it takes nothing away from other code
  /// [RLK-CHILD-6]; and it cannot mistake a later process of the same number [RLK-CHILD-13, RLK-CHILD-14]. A child that
  /// has ended before the source was made or added is told all the same [RLK-CHILD-3]. Other code that waits for any
  /// child (`waitpid(-1)`) may take the exit status: then `.unknown` is told [RLK-CHILD-5]. Several sources for one
  /// child each get its status [RLK-CHILD-7]. A process that is no child is told as `.unknown` when it ends
  /// [RLK-CHILD-10].
  ///
  /// The source takes the exit of its child (there is no zombie left) only while it is valid and a loop runs a mode
  /// that holds it; of a source that was invalidated before, the child is the caller's to wait for [RLK-CHILD-8].
  ///
  /// Source: pidfd_open(2), waitid(2). Where the kernel lacks pidfds (before Linux 5.3, or a filter forbids them; or if
  /// the environment has `RUNLOOPKIT_NO_PIDFD`) the end is learned from SIGCHLD, which must then be blocked in all
  /// threads and not ignored (`RunLoop.Signal.block`; the mask rules of `SignalSource` apply), and only children can be
  /// waited for [RLK-EVENT-11, RLK-SIGNAL-20]. A later process of the same number is told by its start
  /// (`/proc/PID/stat`); only one that other code's waiting lets into the number while `send` or the loop looks,
  /// between two system calls, would be mistaken.
  public final class ChildSource: EventSource, EventService, @unchecked Sendable {
    /// Whose the child is.
    public enum Ownership: Sendable {
      /// The caller's: it lives on when the source is invalidated or gone [RLK-CHILD-31].
      case borrowed
      /// The source's: when that is invalidated, or gone, before the end of the child was told, SIGKILL ends the child
      /// and its exit is taken [RLK-CHILD-30]. So a child does not outlive what has started it; a process that ends
      /// without that, by a crash, leaves it (see `PR_SET_PDEATHSIG` of prctl(2)).
      case killedWhenInvalidated
    }

    @exclusivity(unchecked) final var body: Body
    /// The process that it waits for.
    public let processID: Int32
    private let process: ChildProcess
    private let isTold = Atomic<Bool>(false)
    private let ownership: Ownership

    /// - Parameters:
    ///   - processID: At least 1.
    ///   - ownership: `.killedWhenInvalidated`: invalidating blocks until the kernel has ended the child, mostly well
    ///     below a millisecond. Other sources for the child, and code that waits for it, are told of its end
    ///     [RLK-CHILD-32].
    ///   - order: Ignored: events are served in the order of readiness.
    ///   - body: Called once, on the thread of the loop that runs, with no lock held.
    /// - Throws: `.system`: `ESRCH` if there is no such process (any more), `EINVAL` for a number that is none
    ///   [RLK-CHILD-9], `ECHILD` if it is no child and the kernel has no pidfds, `ENOENT` if there is no `/proc` then;
    ///   `EMFILE`, `ENFILE`, `ENOMEM`.
    /// - Complexity: One system call, eight without pidfds.
    public convenience init(
      processID: Int32, ownership: Ownership = .borrowed, order: Int = 0,
      _ body: @escaping @Sendable (ChildSource, ExitStatus) -> Void
    ) throws(RunLoopError) {
      try self.init(processID: processID, ownership: ownership, order: order, onlyHost: nil, unchecked: body)
    }

    init(
      processID: Int32, ownership: Ownership = .borrowed, order: Int, onlyHost: RunLoop?,
      unchecked body: @escaping (ChildSource, ExitStatus) -> Void
    ) throws(RunLoopError) {
      self.body = Body(body)
      self.ownership = ownership
      self.processID = processID
      process = try ChildHub.current.open(processID)
      try super.init(process.owned, order: order, onlyHost: onlyHost)
    }

    /// How it has ended, as soon as a source of it has been told; else nil.
    public var exitStatus: ExitStatus? { process.exitStatus }

    /// Sends a signal to the process; to no other one, also if its number is in use again.
    ///
    /// - Throws: `.system`: `ESRCH` if it has ended and was waited for, `EPERM`, `EINVAL`; `.invalidItem` once the
    ///   source is invalid; `.forked`.
    /// - Thread: Any. - SeeAlso: pidfd_send_signal(2).
    public func send(_ signal: Signal) throws(RunLoopError) {
      guard !isForked else { throw .forked }
      guard isValid, process.owned.hold() else { throw .invalidItem(nameInErrors) }
      defer { process.owned.release() }
      try process.send(signal)
    }

    package func hasEnded() {
      endOwned()
      process.end()
    }

    /// Its descriptors are open still.
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
      guard !isTold.exchange(true, ordering: .acquiringAndReleasing) else {
        // Its callout runs, in the run around this one or in another loop; until it is invalid its end would be told.
        rest(true, in: loop)
        return false
      }
      __RUNLOOPKIT_IS_CALLING_OUT_TO_A_CHILD_SOURCE__(self, status)
      invalidate()
      return true
    }

    deinit {
      if isValid { endOwned() }
      process.end()
    }

    package var summary: String {
      "<child source\(labelText) order \(order), process \(processID), \(isValid ? "valid" : "invalid")>"
    }
  }
}

/// The closure, which a callout borrows: see Items/Closures.swift.
extension RunLoop.ChildSource {
  struct Body: ~Copyable {
    private let function: (RunLoop.ChildSource, RunLoop.ExitStatus) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.ChildSource, RunLoop.ExitStatus) -> Void) { self.function = function }

    @inline(__always)
    borrowing func call(_ item: RunLoop.ChildSource, _ status: RunLoop.ExitStatus) { function(item, status) }
  }
}
