/// The outcome of a block that a thread waits for: it runs, or is withdrawn, or is lost with its loop. Exactly one of
/// these.
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
    /// It has begun, and the run that had called it was left.
    case left
  }

  private let stage = FutexWord()

  /// Begins the block; false if it was withdrawn. Wakes no thread, because waiters wait for the end. [loop]
  func begin() -> Bool { stage.exchange(from: Stage.queued, to: Stage.running) }

  /// [loop]
  func finish() { _ = stage.change(from: Stage.running, to: Stage.done) }

  /// Instead of `finish`. [loop]
  func isLeft() -> Bool { stage.change(from: Stage.running, to: Stage.left) }

  /// The block was released. Nothing if it has run or was withdrawn.
  func lose() -> Bool { stage.change(from: Stage.queued, to: Stage.lost) }

  /// True: the block will not run.
  func withdraw() -> Bool { stage.change(from: Stage.queued, to: Stage.withdrawn) }

  var isWithdrawn: Bool { stage.load() == Stage.withdrawn }

  /// Late: the block has not begun until the deadline.
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
