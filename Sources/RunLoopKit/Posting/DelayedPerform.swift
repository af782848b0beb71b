extension RunLoop {
  /// A block that waits for its date.
  ///
  /// - Thread: Any, for all members.
  public final class DelayedPerform: @unchecked Sendable {
    /// Set until the block runs, is cancelled or its loop ends. Guarded by `lock`.
    private var pending: Pending?
    /// Guarded by `lock`.
    private var isRun = false
    /// `cancelPerforms(target:key:)` finds the perform by this. `Pending`, or the timer's closure, retains the target.
    let target: ObjectIdentifier?
    private let lock = Lock()

    struct Pending {
      let loop: RunLoop
      /// Retained with the block. Nil for `RunLoop.Local.perform`, whose timer retains block and target.
      let target: AnyObject?
      let key: AnyHashable?
      let block: () -> Void
      let onDrop: (@Sendable () -> Void)?
      /// The timer's modes retain the timer, and the timer's closure retains this perform. If other code removes the
      /// timer from its modes, the timer is released, and the perform is cancelled.
      weak var timer: Timer?
    }

    init(_ pending: Pending, target: ObjectIdentifier?) {
      self.pending = pending
      self.target = target
    }

    func wait(for timer: Timer) { lock.withLock { pending?.timer = timer } }

    private func removePending(toRun: Bool = false) -> Pending? {
      guard lock.forkGeneration == Kernel.forkGeneration else { return nil }
      return lock.withLock {
        if toRun, pending != nil { isRun = true }
        return pending.take()
      }
    }

    var hasBegun: Bool { lock.withLock { isRun } }

    /// True until the block begins, is cancelled, or its loop ends.
    public var isPending: Bool {
      lock.forkGeneration == Kernel.forkGeneration && lock.withLock { pending != nil }
    }

    /// A name for the block, which the loop's description and reports of slow callouts show. Nil at first, and once the
    /// block has begun or was cancelled; setting it does nothing then.
    public var label: String? {
      get { timer?.label }
      set { timer?.label = newValue }
    }

    /// Nil unless the block is pending.
    private var timer: Timer? {
      lock.forkGeneration == Kernel.forkGeneration ? lock.withLock { pending?.timer } : nil
    }

    /// Compares the keys without the lock, since their `==` is user code.
    func hasKey(_ key: AnyHashable?) -> Bool { lock.withLock { pending?.key } == key }

    /// Keeps the block from running. Returns true if the block will not run because of this call; false if it runs, has
    /// run or was cancelled before [RLK-DELAY-2].
    /// - Complexity: O(modes * log timers).
    @discardableResult
    public func cancel() -> Bool {
      guard let pending = withdraw() else { return false }
      drop(pending)
      return true
    }

    /// Withdraws the block, because the call that made this perform throws. Returns false if the block has begun or was
    /// cancelled.
    func refuse() -> Bool { withdraw() != nil }

    /// Called when the loop has ended before the block ran.
    func abandon() { if let pending = removePending() { drop(pending) } }

    private func withdraw() -> Pending? {
      guard let pending = removePending() else { return nil }
      pending.loop.forget(self)
      pending.timer?.invalidate()
      return pending
    }

    /// Releases the block and calls `onDrop`. It consumes `pending`, so that the block's captures are released before
    /// that call.
    private func drop(_ pending: consuming Pending) {
      let onDrop = pending.onDrop
      _ = consume pending
      if let onDrop { _ = __RUNLOOPKIT_IS_TELLING_OF_A_DROPPED_BLOCK__(onDrop) }
    }

    /// Called by the timer. Returns false if the block has run or was cancelled. - Thread: The loop's own.
    func run() -> Bool {
      guard let pending = removePending(toRun: true) else { return false }
      pending.loop.forget(self)
      pending.block()
      return true
    }
  }

  private func forget(_ performed: DelayedPerform) {
    lock.withLock { state.delayedPerforms.remove(performed, target: performed.target) }
  }
}

/// Only the timer's closure holds this. If the closure is released without having run, nothing can run the block any
/// more, and the perform is cancelled.
final class DelayedTurn: @unchecked Sendable {
  private let performed: RunLoop.DelayedPerform

  init(_ performed: RunLoop.DelayedPerform) { self.performed = performed }

  @discardableResult
  func run() -> Bool { performed.run() }

  deinit { performed.cancel() }
}
