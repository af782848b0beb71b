/// How long a run may take (rule 5).
struct RunLimit {
  /// Seconds beyond this are no limit, about 16 years.
  private static let longest: UInt64 = 504_911_232 * 1_000_000_000

  /// 0: one pass that does not wait. Never: no limit.
  private let nanoseconds: UInt64
  /// Since the clock began, not since the start of the passes.
  private let isMoment: Bool

  static let poll = RunLimit(nanoseconds: 0)

  private init(nanoseconds: UInt64, isMoment: Bool = false) {
    self.nanoseconds = nanoseconds
    self.isMoment = isMoment
  }

  init(until moment: RunLoop.Instant) {
    self.init(nanoseconds: moment.nanoseconds, isMoment: moment != .distantFuture)
  }

  @inline(__always)
  init(_ duration: Duration?) {
    let limit = duration?.nanosecondsRoundedUp ?? Time.forever
    self.init(nanoseconds: limit > Self.longest ? Time.forever : limit)
  }

  /// No wait has an end by itself.
  @inline(__always)
  var isEndless: Bool { nanoseconds == Time.forever }

  /// Taken after the entry observers, like the deadline.
  @inline(__always)
  var isPoll: Bool { nanoseconds == 0 || (isMoment && nanoseconds <= Kernel.now()) }

  /// Of no use for a poll.
  @inline(__always)
  func deadline() -> UInt64 {
    if isMoment { return nanoseconds }
    return nanoseconds == 0 || nanoseconds == Time.forever ? Time.forever : Time.add(Kernel.now(), nanoseconds)
  }
}
