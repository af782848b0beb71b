import RunLoopKit

/// What happens once, and what any thread can wait for: a participant by its own turns, of whatever virtual time it is,
/// and another thread by the system's.
final class Occasion: Sendable {
  private let word = FutexWord()

  /// Lets all who wait go on, each at its turn. Thread: any. Blocks: no.
  func happen() { _ = word.change(from: 0, to: 1) }

  /// Returns at once when it has happened.
  func wait(for purpose: String) { _ = word.wait(while: 0, .never, for: purpose) }
}
