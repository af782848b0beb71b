/// A block, and who wants to know if it will never run. The closure that runs it alone holds it once it is queued: when
/// that goes without having had its turn, the poster is told.
final class PostedBlock: @unchecked Sendable {
  /// Until its turn; guarded by that there is one.
  private var block: HeldBlock?
  private var onDrop: (@Sendable () -> Void)?
  private let forkGeneration = Kernel.forkGeneration

  init(_ block: HeldBlock, _ onDrop: (@Sendable () -> Void)?) {
    self.block = block
    self.onDrop = onDrop
  }

  /// [loop]
  func run() {
    onDrop = nil
    let block = self.block.take()
    block?.body()
  }

  /// The poster is told by an error.
  func isRefused() { onDrop = nil }

  deinit {
    guard let onDrop, forkGeneration == Kernel.forkGeneration else { return }
    block = nil
    _ = __RUNLOOPKIT_IS_TELLING_OF_A_DROPPED_BLOCK__(onDrop)
  }
}

/// A block in a struct: moved into an array or an optional by itself, the compiler (6.3) releases it once too often.
struct HeldBlock {
  let body: () -> Void
}
