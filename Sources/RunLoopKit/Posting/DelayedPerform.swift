extension RunLoop {
  /// A block that waits for its date.
  ///
  /// - Thread: Any, for all members.
  public final class DelayedPerform: @unchecked Sendable {
    /// Until it runs, is cancelled or its loop ends. Guarded by `lock`.
    private var pending: Pending?
    /// Guarded by `lock`.
    private var isRun = false
    /// By which `cancelPerforms(target:key:)` finds it. The block retains the target.
    let target: ObjectIdentifier?
    private let lock = Lock()

    struct Pending {
      let loop: RunLoop
      /// Retained with the block; a block that belongs to the thread is its timer's, with the target.
      let target: AnyObject?
      let key: AnyHashable?
      let block: () -> Void
      let onDrop: (@Sendable () -> Void)?
      /// Its modes retain it, and it retains this object: removed from them by other code, it goes, and tells so.
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

    /// It runs, or has run.
    var hasBegun: Bool { lock.withLock { isRun } }

    /// True until the block begins, is cancelled, or its loop ends.
    public var isPending: Bool {
      lock.forkGeneration == Kernel.forkGeneration && lock.withLock { pending != nil }
    }

    /// The keys are compared without the lock: their `==` is the user's.
    func hasKey(_ key: AnyHashable?) -> Bool { lock.withLock { pending?.key } == key }

    /// Keeps the block from running: true if this call did it, so that it will not run; false if it runs, has run or
    /// was cancelled before [RLK-DELAY-2].
    /// - Complexity: O(modes * log timers).
    @discardableResult
    public func cancel() -> Bool {
      guard let pending = withdraw() else { return false }
      drop(pending)
      return true
    }

    /// Withdraws it, because the call throws. False if it has begun, or was cancelled meanwhile.
    func refuse() -> Bool { withdraw() != nil }

    /// Its loop has ended first.
    func abandon() { if let pending = removePending() { drop(pending) } }

    private func withdraw() -> Pending? {
      guard let pending = removePending() else { return nil }
      pending.loop.forget(self)
      pending.timer?.invalidate()
      return pending
    }

    /// A function of its own, so that captured values are released before the poster learns of the drop.
    private func drop(_ pending: consuming Pending) {
      let onDrop = pending.onDrop
      _ = consume pending
      if let onDrop { _ = __RUNLOOPKIT_IS_TELLING_OF_A_DROPPED_BLOCK__(onDrop) }
    }

    /// By its timer. False if it has run, or was cancelled. [loop]
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

/// Held by the timer's closure alone: if that is released without having run, nothing will ever run the block.
final class DelayedTurn: @unchecked Sendable {
  private let performed: RunLoop.DelayedPerform

  init(_ performed: RunLoop.DelayedPerform) { self.performed = performed }

  @discardableResult
  func run() -> Bool { performed.run() }

  deinit { performed.cancel() }
}
