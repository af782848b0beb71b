internal import CRunLoopCore
internal import Synchronization

/// Spins for a while before a sleep, to notice a wake without a system call. As long as spinning finds nothing, it
/// spins before fewer and fewer sleeps. A thin owner of `rlc_spin`.
/// - Thread: The loop's own.
struct Spin {
  /// Longer limits are cut to this.
  static let longest = UInt64(RLC_SPIN_MAX_NS)

  private var spin = rlc_spin()

  /// In nanoseconds. With 0 it never spins. A new limit makes it forget what earlier spinning has found.
  var limit: UInt64 {
    get { spin.limit_ns }
    set { rlc_spin_set(&spin, newValue) }
  }

  /// True if something was posted, so that the loop must not sleep.
  mutating func untilPosted(_ port: OpaquePointer, deadline: UInt64) -> Bool {
    rlc_spin_until_posted(&spin, port, nil, deadline)
  }
}

extension RunLoop {
  /// How long the loop spins before it sleeps, to notice a wake without a system call. Zero at first: it does not spin.
  /// More than 50 microseconds count as 50, less than zero as zero [RLK-SPIN-3]. 20 microseconds usually pay off.
  ///
  /// While the loop spins, a wake, a stop or a performed block costs its sender no system call and the loop no sleep:
  /// between two threads on two processors an answer takes some 3 us instead of 25 [RLK-SPIN-1]. The price is processor
  /// time. If a descriptor becomes ready meanwhile, the loop serves it only when the spinning ends; a due timer ends
  /// the spinning. Use it for a loop that waits for quick answers of another thread and has a processor of its own. The
  /// loop learns: while spinning finds nothing, it spins before fewer and fewer waits, down to one in a thousand.
  /// - Thread: Any; a new limit takes effect at the loop's next sleep. Once the loop has ended, the limit is zero and
  ///   setting it does nothing.
  /// - SeeAlso: `rlc_loop_set_spin`.
  public var spinLimit: Duration {
    get { isUsable ? Duration(nanoseconds: wantedSpin.load(ordering: .relaxed)) : .zero }
    set {
      guard isUsable else { return }
      wantedSpin.store(min(newValue.nanosecondsRoundedUp, Spin.longest), ordering: .relaxed)
    }
  }

  @inline(never)
  func spin(until deadline: UInt64) -> Bool {
    let limit = wantedSpin.load(ordering: .relaxed)
    if limit == 0 { return false }
    if limit != owner.spin.limit { owner.spin.limit = limit }
    return wakes.word.spin(&owner.spin, until: deadline)
  }
}
