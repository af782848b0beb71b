internal import Glibc

/// A descriptor that is closed with its item: once, when the item is invalid or gone, is a member of no mode, and none of its
/// callouts runs. Never while an epoll set knows it, so that nobody hears of the number's next owner.
class OwnedDescriptor: @unchecked Sendable {
  let fileDescriptor: Int32
  /// The item's own, and one for each membership and each callout that runs.
  private let holds = HoldCount()
  private let forkGeneration = Kernel.forkGeneration

  init(_ fileDescriptor: Int32) { self.fileDescriptor = fileDescriptor }

  /// False if it is closed, or about to be.
  final func hold() -> Bool { holds.hold() }

  /// What `hold` has answered with true.
  final func release() {
    if holds.release() { close() }
  }

  /// The item is invalid, or gone: its own hold ends.
  final func giveUp() {
    if holds.giveUp() { close() }
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
