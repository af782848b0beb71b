internal import Glibc
internal import Synchronization

/// A descriptor that is closed with its item: once, when the item is invalid or gone, is a member of no mode, and none of its
/// callouts runs. Never while an epoll set knows it, so that nobody hears of the number's next owner.
class OwnedDescriptor: @unchecked Sendable {
  let fileDescriptor: Int32
  /// The item's own hold, and one for each membership and each callout that runs; never grows again from 0.
  private let holds = Atomic<Int>(1)
  private let isGivenUp = Atomic<Bool>(false)
  private let forkGeneration = Kernel.forkGeneration

  init(_ fileDescriptor: Int32) { self.fileDescriptor = fileDescriptor }

  /// False if it is closed, or about to be.
  final func hold() -> Bool {
    var seen = holds.load(ordering: .relaxed)
    while seen > 0 {
      let (exchanged, original) = holds.weakCompareExchange(
        expected: seen, desired: seen + 1, ordering: .acquiringAndReleasing)
      if exchanged { return true }
      seen = original
    }
    return false
  }

  /// What `hold` has answered with true.
  final func release() {
    if holds.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { close() }
  }

  /// The item is invalid, or gone: its own hold ends.
  final func giveUp() {
    if !isGivenUp.exchange(true, ordering: .acquiringAndReleasing) { release() }
  }

  /// Once. In a child of fork(2) the number is left alone.
  final func close() {
    if forkGeneration == Kernel.forkGeneration { closeDescriptors() }
  }

  /// The number is free whatever close(2) answers.
  func closeDescriptors() { _ = Glibc.close(fileDescriptor) }

  // Nobody holds a membership of an item that is gone.
  deinit { giveUp() }
}
