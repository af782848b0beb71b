internal import Synchronization

/// A reference count. Its references are called holds. The owner has one until `giveUp`, and other threads have one
/// during a call. The thread that ends the last hold releases the object. A count of 0 never grows again.
package struct HoldCount: ~Copyable, Sendable {
  private let holds = Atomic<Int>(1)
  private let isGivenUp = Atomic<Bool>(false)

  package init() {}

  /// Begins a hold. Returns false if the last hold has ended, or is ending now. - Thread: Any.
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

  /// The number of holds at this moment, the owner's included.
  var count: Int { holds.load(ordering: .acquiring) }

  /// Ends a hold for which `hold` has returned true. Returns true if it was the last one. - Thread: Any.
  package func release() -> Bool { holds.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 }

  /// Ends the owner's hold; further calls do nothing. Returns true, once, if it was the last hold. - Thread: Any.
  package func giveUp() -> Bool { !isGivenUp.exchange(true, ordering: .sequentiallyConsistent) && release() }
}
