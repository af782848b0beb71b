extension RunLoop {
  /// Limits how often the loop calls a source: at most `count` times in each period.
  ///
  /// A source that has used up its calls is paused until the period ends. What arrives meanwhile is not lost: it stays
  /// in the descriptor, or in the kernel's queue of signals or file events, and is delivered afterwards; the kernel may
  /// have coalesced it there. A period begins with the first call after the previous period has ended. The loop's clock
  /// measures the period. A timer in the source's modes ends the pause, and keeps these modes from being empty. If none
  /// of them runs when the period ends, the pause ends when one runs again. Several sources may share a limit; each
  /// counts its own calls. A source in several loops has one count, and is paused in each loop that has called it.
  /// - Thread: Any, for all members.
  public final class RateLimit: Sendable {
    /// The number of calls in a period, at least 1.
    public let count: Int
    /// The length of a period. Zero or less limits nothing, since each call begins another period; a period of 584
    /// years or more never ends.
    public let period: Duration
    /// Called when a pause ends: on the loop's thread, with no lock held.
    public let onResume: (@Sendable (Item) -> Void)?

    /// Creates a limit.
    /// - Parameters:
    ///   - count: The number of calls in a period, at least 1; less counts as 1.
    ///   - period: The length of a period. Zero or less limits nothing.
    ///   - onResume: Called on the loop's thread each time a pause ends.
    public init(count: Int, per period: Duration, onResume: (@Sendable (Item) -> Void)? = nil) {
      if count < 1 { Diagnosis.hint("RateLimit: the count \(count) counts as 1") }
      if period <= .zero { Diagnosis.hint("RateLimit: the period \(period) limits nothing") }
      self.count = max(count, 1)
      self.period = period
      self.onResume = onResume
    }
  }
}
