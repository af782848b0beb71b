internal import Synchronization

/// How many hold something that ends with the last of them: its owner until it gives up, and others, each for a while.
/// It never grows again from 0.
package struct HoldCount: ~Copyable, Sendable {
  private let holds = Atomic<Int>(1)
  private let isGivenUp = Atomic<Bool>(false)

  package init() {}

  /// False if the last hold has ended, or is ending now. - Thread: Any.
  package func hold() -> Bool {
    var seen = holds.load(ordering: .relaxed)
    while seen > 0 {
      let (exchanged, original) = holds.weakCompareExchange(
        expected: seen, desired: seen + 1, ordering: .acquiringAndReleasing)
      if exchanged { return true }
      seen = original
    }
    return false
  }

  /// The owner's own, and the others at this moment.
  var count: Int { holds.load(ordering: .acquiring) }

  /// Ends what `hold` has answered with true. True if it was the last one. - Thread: Any.
  package func release() -> Bool { holds.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 }

  /// Ends the owner's own hold, however often it is called. True, once, if it was the last one. - Thread: Any.
  package func giveUp() -> Bool { !isGivenUp.exchange(true, ordering: .sequentiallyConsistent) && release() }
}
