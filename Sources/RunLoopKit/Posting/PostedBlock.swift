/// A block, and a closure that learns if the block will never run. Once it is queued, only the closure that runs it
/// holds it: if that is released without having run, `onDrop` is called.
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

  /// The poster learns of it by an error.
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
