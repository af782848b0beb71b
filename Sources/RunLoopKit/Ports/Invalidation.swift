internal import Synchronization

/// Whether the receiver that a send right names has ended, and the observers of that end.
package final class Invalidation: Sendable {
  private let lock = Lock()
  private let isOverWord = Atomic<Bool>(false)
  private nonisolated(unsafe) var observations: ContiguousArray<RunLoop.Port.Observation> = []

  package init() {}

  package var isOver: Bool { isOverWord.load(ordering: .acquiring) }

  /// Calls `body` at the end, or at once if the receiver has ended already.
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

  /// Marks the receiver as ended, and calls each observer once, with no lock held.
  package func invalidate() {
    let called = lock.withLock { () -> ContiguousArray<RunLoop.Port.Observation> in
      isOverWord.store(true, ordering: .releasing)
      defer { observations = [] }
      return observations
    }
    for observation in called { observation.call() }
  }

  func remove(_ observation: RunLoop.Port.Observation) {
    lock.withLock { observations.removeAll { $0 === observation } }
  }
}
