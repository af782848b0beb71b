/// How long a run may take (rule 5).
struct RunLimit {
  /// Durations longer than this, about 16 years in nanoseconds, count as no limit.
  private static let longest: UInt64 = 504_911_232 * 1_000_000_000

  /// A duration, or a moment if `isMoment` is true. 0 means one pass that does not wait, `Time.forever` no limit.
  private let nanoseconds: UInt64
  /// True if the nanoseconds count from the clock's zero, false if from the start of the passes.
  private let isMoment: Bool

  static let poll = RunLimit(nanoseconds: 0)

  private init(nanoseconds: UInt64, isMoment: Bool = false) {
    self.nanoseconds = nanoseconds
    self.isMoment = isMoment
  }

  init(until moment: RunLoop.Instant) {
    self.init(nanoseconds: moment.nanoseconds, isMoment: moment != .distantFuture)
  }

  init(_ duration: Duration?) {
    let limit = duration?.nanosecondsRoundedUp ?? Time.forever
    self.init(nanoseconds: limit > Self.longest ? Time.forever : limit)
  }

  var isEndless: Bool { nanoseconds == Time.forever }

  /// True if the run makes one pass that does not wait. The run reads it after the entry observers, like the deadline.
  var isPoll: Bool { nanoseconds == 0 || (isMoment && nanoseconds <= Kernel.now()) }

  /// The moment at which the run times out, on the monotonic clock. Meaningless for a poll.
  @inline(__always)
  func deadline() -> UInt64 {
    if isMoment { return nanoseconds }
    return nanoseconds == 0 || nanoseconds == Time.forever ? Time.forever : Time.add(Kernel.now(), nanoseconds)
  }
}
