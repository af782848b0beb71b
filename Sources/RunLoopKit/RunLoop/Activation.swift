/// One run, on the stack of its thread. Owner only.
struct Activation {
  let parent: UnsafeMutablePointer<Activation>?
  let mode: ModePointer
  /// The current mode before.
  let outerMode: ModePointer?
  /// Where its scope begins in the thread's scopes: before its entry observers.
  let scope: Int
  /// Wakes are remembered: from the entry and from the top of each pass until the end of its wait (rule 15).
  var isAccepting = true
  /// A nested run took a wake that may have been meant for this one: the next wait does not block (rule 17).
  var isOwedWake = false
  /// Something was posted in a pass that did not wait: kept for the next one.
  var heldWake = WakeWord.Posted.none
  /// The readiness source whose callout is on the stack: nested runs leave it out.
  var serving: RunLoop.FileDescriptorSource?
}

/// How long a run may take (rule 5).
struct RunLimit {
  /// Seconds beyond this are no limit, about 16 years.
  private static let longest: UInt64 = 504_911_232 * 1_000_000_000

  /// 0: one pass that does not wait. Never: no limit.
  private let nanoseconds: UInt64

  static let poll = RunLimit(nanoseconds: 0)

  private init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  init(_ duration: Duration?) {
    guard let duration else {
      nanoseconds = Time.forever
      return
    }
    let limit = duration.nanosecondsRoundedUp
    nanoseconds = limit > Self.longest ? Time.forever : limit
  }

  var isPoll: Bool { nanoseconds == 0 }

  /// Taken after the entry observers. Of no use for a poll.
  func deadline() -> UInt64 {
    isPoll || nanoseconds == Time.forever ? Time.forever : Time.add(Kernel.now(), nanoseconds)
  }
}
