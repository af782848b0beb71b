/// A block, and a closure that is called if the block will never run. Once the block is queued, only the queued closure
/// retains this object. If that closure is released without having run, the deinitialiser calls `onDrop`.
final class PostedBlock: @unchecked Sendable {
  /// Set until the block runs. Only one thread runs the block, so no lock guards this field.
  private var block: HeldBlock?
  private var onDrop: (@Sendable () -> Void)?
  private let forkGeneration = Kernel.forkGeneration

  init(_ block: HeldBlock, _ onDrop: (@Sendable () -> Void)?) {
    self.block = block
    self.onDrop = onDrop
  }

  /// - Thread: The loop's own.
  func run() {
    onDrop = nil
    let block = self.block.take()
    block?.body()
  }

  /// Called if the loop refuses the block: the poster gets an error instead of `onDrop`.
  func isRefused() { onDrop = nil }

  deinit {
    guard let onDrop, forkGeneration == Kernel.forkGeneration else { return }
    block = nil
    _ = __RUNLOOPKIT_IS_TELLING_OF_A_DROPPED_BLOCK__(onDrop)
  }
}

/// A block in a struct. The compiler (6.3) releases a bare closure once too often when it moves into an array or an
/// optional.
struct HeldBlock {
  let body: () -> Void
}
