/// One run, on the stack of its thread. Owner only.
struct Activation {
  let parent: UnsafeMutablePointer<Activation>?
  let mode: ModePointer
  /// The current mode before.
  let outerMode: ModePointer?
  /// The item from whose callout it was begun, to be recorded again when it ends; 0: none.
  let enclosingCallout: UInt
  /// Where its scope begins in the thread's scopes: before its entry observers.
  let scope: Int
  /// Decided after the entry observers: a mode that becomes common later serves the main queue from its next run on.
  var servesMainQueue = false
  /// Wakes are remembered: from the entry and from the top of each pass until the end of its wait (rule 15).
  var isAccepting = true
  /// A nested run took a wake that may have been meant for this one: the next wait does not block (rule 17).
  var isOwedWake = false
  /// Something was posted in a pass that did not wait: kept for the wait that comes next, its own or a nested run's.
  var heldWake = WakeWord.Posted.none
  /// A stop before it accepted wakes, or the answer it awaits: its own next wait does not block.
  var isOwedLook = false
  /// The readiness source whose callout, which holds it, is on the stack: nested runs leave it out.
  var serving: Unmanaged<RunLoop.FileDescriptorSource>?
  /// A nested run has left it out of its set: it comes back when its callout ends.
  var isServingMuted = false
  /// A perform that counts as a source has run among its blocks, since the last drain that told so.
  var hasPerformed = false
  /// Of a request's run: it ends when that has its answer.
  var awaited: Unmanaged<AwaitedReply>?
}

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
