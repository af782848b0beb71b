/// One run, on the stack of its thread. Owner only.
struct Activation {
  let parent: UnsafeMutablePointer<Activation>?
  let mode: ModePointer
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
  private static let longest = Duration.seconds(504_911_232)

  let duration: Duration?

  init(_ duration: Duration?) {
    self.duration = duration.flatMap { $0 > Self.longest ? nil : $0 }
  }

  /// One pass that does not wait.
  var isPoll: Bool { duration.map { $0 <= .zero } ?? false }

  /// Taken after the entry observers.
  func deadline() -> UInt64 {
    guard let duration else { return Time.forever }
    return Time.add(Kernel.now(), duration.nanosecondsRoundedUp)
  }
}
