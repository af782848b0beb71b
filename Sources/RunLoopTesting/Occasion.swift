import RunLoopKit

/// An event that happens once, and for which any thread can wait. A participant passes its turn on and waits in its own
/// virtual time. Every other thread waits in the kernel.
final class Occasion: Sendable {
  private let word = FutexWord()

  /// Wakes all waiters, each at its turn. Any thread may call it; it does not block.
  func happen() { _ = word.change(from: 0, to: 1) }

  /// Returns at once if the event has happened.
  func wait(for purpose: String) { _ = word.wait(while: 0, .never, for: purpose) }
}
