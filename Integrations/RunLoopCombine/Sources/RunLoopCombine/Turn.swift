import CRunLoopCore
import Glibc
import Synchronization

/// An action that waits for its turn. Only what will call it holds it: if that is released before, the action is
/// dropped, and that is told.
final class Turn: @unchecked Sendable {
  // OpenCombine's operators hand over what they do not touch before it is called.
  private let action: () -> Void
  private let options: RunLoopScheduler.SchedulerOptions?
  private let isOver = Atomic(false)

  init(_ action: @escaping () -> Void, orElse options: RunLoopScheduler.SchedulerOptions?) {
    self.action = action
    self.options = options
  }

  /// The only call.
  func take() {
    isOver.store(true, ordering: .releasing)
    action()
  }

  /// One of many, until it is cancelled.
  func `repeat`() { if !isOver.load(ordering: .acquiring) { action() } }

  func cancel() { isOver.store(true, ordering: .releasing) }

  /// It will not be called. At most once.
  func drop() {
    guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
    if let options { return options.onDrop() }
    let text =
      "RunLoopCombine: an action is dropped: its run loop has ended. Keep the loop, or pass SchedulerOptions(onDrop:)\n"
    _ = text.withCString { rlc_descriptor_write(STDERR_FILENO, $0, strlen($0)) }
  }

  deinit { drop() }
}
