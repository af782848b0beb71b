/// The state of a block that a thread or a task waits for. Exactly one of these comes first: the block begins, it is
/// withdrawn, or it is lost with its loop.
final class BlockTicket: Sendable {
  private enum Stage {
    static let queued: UInt32 = 0
    static let running: UInt32 = 1
    static let done: UInt32 = 2
    static let withdrawn: UInt32 = 3
    static let lost: UInt32 = 4
    static let left: UInt32 = 5
  }

  enum Outcome {
    case done, lost, late
    /// The block has begun, and an exception or longjmp(3) has left it.
    case left
  }

  private let stage = FutexWord()

  /// Begins the block. Returns false if it was withdrawn. Wakes no thread, because waiters wait for the end.
  /// - Thread: The loop's own.
  func begin() -> Bool { stage.exchange(from: Stage.queued, to: Stage.running) }

  /// Called when the block has returned. - Thread: The loop's own.
  func finish() { _ = stage.change(from: Stage.running, to: Stage.done) }

  /// Called instead of `finish` when the block was left. Returns false if it is not running. - Thread: The loop's own.
  func isLeft() -> Bool { stage.change(from: Stage.running, to: Stage.left) }

  /// Called when the queued block was released. Returns false if it has begun or was withdrawn.
  func lose() -> Bool { stage.change(from: Stage.queued, to: Stage.lost) }

  /// Returns false if the block has begun or was lost.
  func withdraw() -> Bool { stage.change(from: Stage.queued, to: Stage.withdrawn) }

  var isWithdrawn: Bool { stage.load() == Stage.withdrawn }

  /// Waits for the end of the block. Returns `late` if the block has not begun before the deadline.
  func wait(_ deadline: Deadline) -> Outcome {
    guard stage.wait(while: Stage.queued, deadline, for: "a block's turn (performAndWait)") else { return .late }
    _ = stage.wait(while: Stage.running, .never, for: "a block's end (performAndWait)")
    switch stage.load() {
    case Stage.lost: return .lost
    case Stage.left: return .left
    default: return .done
    }
  }
}
