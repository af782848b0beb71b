internal import Synchronization

extension RunLoop.Port {
  /// Returned by `onInvalidation`. `cancel()` cancels the call that this object stands for; releasing it does not.
  public final class Observation: @unchecked Sendable {
    /// The thread that sets `isPending` to false takes the body.
    private var body: (@Sendable () -> Void)?
    private let list: Invalidation
    /// True until the body is called or the observation is cancelled.
    private let isPending = Atomic<Bool>(true)

    init(_ list: Invalidation, _ body: @escaping @Sendable () -> Void) {
      self.list = list
      self.body = body
    }

    /// Keeps the body from being called; does not wait for a call that runs at this moment.
    /// - Thread: Any.
    public func cancel() {
      guard let body = removeBody() else { return }
      list.remove(self)
      withExtendedLifetime(body) {}
    }

    func call() {
      guard let body = removeBody() else { return }
      _ = __RUNLOOPKIT_IS_CALLING_OUT_TO_AN_INVALIDATION_OBSERVER__(body, self)
    }

    private func removeBody() -> (@Sendable () -> Void)? {
      isPending.exchange(false, ordering: .acquiringAndReleasing) ? body.take() : nil
    }
  }
}
