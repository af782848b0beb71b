internal import Synchronization

extension RunLoop.Port {
  /// What `onInvalidation` returns, to cancel the call. Releasing it does not cancel.
  public final class Observation: @unchecked Sendable {
    /// Who ends the pending takes it.
    private var body: (@Sendable () -> Void)?
    private let list: Invalidation
    /// Neither called nor called off.
    private let isPending = Atomic<Bool>(true)

    fileprivate init(_ list: Invalidation, _ body: @escaping @Sendable () -> Void) {
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

    fileprivate func call() {
      guard let body = removeBody() else { return }
      _ = __RUNLOOPKIT_IS_CALLING_OUT_TO_AN_INVALIDATION_OBSERVER__(body, self)
    }

    private func removeBody() -> (@Sendable () -> Void)? {
      isPending.exchange(false, ordering: .acquiringAndReleasing) ? body.take() : nil
    }
  }
}

/// Whether what a send right names is gone for good, and who wants to know.
package final class Invalidation: Sendable {
  private let lock = Lock()
  private let isOverWord = Atomic<Bool>(false)
  private nonisolated(unsafe) var observations: ContiguousArray<RunLoop.Port.Observation> = []

  package init() {}

  package var isOver: Bool { isOverWord.load(ordering: .acquiring) }

  /// Called at once if it is over already.
  package func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation {
    let observation = RunLoop.Port.Observation(self, body)
    let isLate = lock.withLock {
      guard !isOverWord.load(ordering: .relaxed) else { return true }
      observations.append(observation)
      return false
    }
    if isLate { observation.call() }
    return observation
  }

  /// Calls all observers, with no lock held; each once.
  package func invalidate() {
    let called = lock.withLock { () -> ContiguousArray<RunLoop.Port.Observation> in
      isOverWord.store(true, ordering: .releasing)
      defer { observations = [] }
      return observations
    }
    for observation in called { observation.call() }
  }

  fileprivate func remove(_ observation: RunLoop.Port.Observation) {
    lock.withLock { observations.removeAll { $0 === observation } }
  }
}
