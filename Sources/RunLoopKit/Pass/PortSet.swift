internal import CRunLoopCore
internal import RunLoopLibc

/// The descriptors of one mode: a thin owner of `rlc_port_set`, whose contexts are references to the members.
struct PortSet {
  /// Descriptors of the loop itself. An event of such a descriptor is only a hint: it has a place in the order of
  /// readiness, but the loop reads elsewhere what has happened.
  enum Hint: Int {
    case wakeup = 1
    case timer = 2
    case mainQueue = 3
    case continuousTimer = 4
    case wallTimer = 5
  }

  enum Event {
    case hint(Hint)
    /// The member's context pointer and its `RLC_` readiness bits.
    case port(UnsafeMutableRawPointer, ready: UInt32)
    /// epoll does not watch the hint any more: its number was closed.
    case lostHint(Hint)
    /// epoll does not watch the member any more, and never will, since its number was closed.
    case lost(UnsafeMutableRawPointer)
    /// epoll refuses to watch the member. `retry` may change that.
    case refused(UnsafeMutableRawPointer)
  }

  private let set: OpaquePointer

  /// The kernel must outlive the set.
  init(_ kernel: Kernel?) throws(RunLoopError) {
    var set: OpaquePointer?
    try RunLoopError.checkCore(rlc_port_set_create(kernel.table, &set))
    self.set = set!  // a create function that returns 0 has set it
  }

  func destroy() { rlc_port_set_destroy(set) }

  var fileDescriptor: Int32 { rlc_port_set_fd(set) }
  var rebuilds: UInt64 { rlc_port_set_rebuilds(set) }

  func watchWakeup(_ port: OpaquePointer) throws(RunLoopError) {
    try RunLoopError.checkCore(rlc_kit_watch_wakeup(set, port))
  }

  func renewWakeup(_ port: OpaquePointer) throws(RunLoopError) {
    try RunLoopError.checkCore(rlc_kit_renew_wakeup(set, port))
  }

  /// Announces a sleep in this set. Returns false if the loop must not sleep. - Thread: The loop's own.
  func beginWait(_ port: OpaquePointer?) -> Bool { rlc_kit_begin_wait(port, set) }

  /// Makes a new epoll instance, with all members, in place of one that other code has closed or replaced. Called after
  /// a wait that has failed. False if the instance is still there, or if no new one can be made.
  func reviveIfLost() -> Bool { rlc_kit_revive_if_lost(set) }

  @discardableResult
  func insertHint(_ hint: Hint, fileDescriptor: Int32) throws(RunLoopError) -> UInt64 {
    var token = rlc_token()
    let context = UnsafeMutableRawPointer(bitPattern: hint.rawValue)
    try RunLoopError.checkCore(
      rlc_port_set_insert(set, fileDescriptor, RLC_PORT_HINT, UInt32(RLC_READABLE), context, &token))
    return token.bits
  }

  /// Removes a hint, also if other code has closed its number.
  func removeHint(_ token: UInt64) { _ = rlc_port_set_remove(set, rlc_token(bits: token)) }

  /// False if other code has closed the number, which may belong to another file by now. One system call.
  func isWatched(_ token: UInt64) -> Bool { rlc_kit_is_watched(set, rlc_token(bits: token)) }

  @inline(__always)
  func insert(_ port: PortRegistration, _ member: RunLoop.DescriptorItem) throws(RunLoopError) -> UInt64 {
    var token = rlc_token()
    let kind = port.isCounter ? RLC_PORT_COUNTER : RLC_PORT_READINESS
    // `remove` releases it. A mode calls `remove` for each member that leaves (`unregister`).
    let context = Unmanaged.passRetained(member)
    let status = rlc_port_set_insert(set, port.fileDescriptor, kind, port.interest, context.toOpaque(), &token)
    if status < 0 { context.release() }  // not the last reference: the caller has one
    try RunLoopError.checkCore(
      status, DescriptorWords.refusal(port.fileDescriptor, -status, isCounter: port.isCounter))
    return token.bits
  }

  /// True if epoll does not take the descriptor, because files of its kind are always ready.
  func refuses(_ fileDescriptor: Int32) throws(RunLoopError) -> Bool {
    var token = rlc_token()
    let status = rlc_port_set_insert(set, fileDescriptor, RLC_PORT_READINESS, 0, nil, &token)
    if status == -EPERM { return true }
    try RunLoopError.checkCore(status, DescriptorWords.refusal(fileDescriptor, -status, isCounter: false))
    _ = rlc_port_set_remove(set, token)  // cannot fail: it was added above, and is the only member
    return false
  }

  /// - Parameters:
  ///   - descriptor: The member's descriptor, which errors name.
  ///   - isServed: True if the member's own callout runs.
  func setInterest(
    _ interest: UInt32, token: UInt64, of descriptor: Int32, isServed: Bool = false
  ) throws(RunLoopError) {
    let token = rlc_token(bits: token)
    let status =
      isServed
      ? rlc_kit_set_served_interest(set, token, interest) : rlc_port_set_set_interest(set, token, interest)
    try RunLoopError.check(status, "epoll_ctl", DescriptorWords.changed(descriptor, -status))
  }

  /// Mutes or unmutes the member. False if epoll refuses to watch the member again for lack of memory or watches: the
  /// set then reports nothing of it until `retry` succeeds. Returns true for a closed number, since `take` reports it.
  /// Also returns true for a stale token, and in a child of fork(2), because nothing has to be reported then.
  func setMuted(_ isMuted: Bool, token: UInt64) -> Bool {
    Self.isWatched(rlc_port_set_set_muted(set, rlc_token(bits: token), isMuted))
  }

  /// Removes and releases the member. False if epoll refuses to watch an earlier member of the same number: the set
  /// then reports nothing of that one until `retry` succeeds.
  func remove(_ member: RunLoop.Item, token: UInt64) -> Bool {
    let status = rlc_port_set_remove(set, rlc_token(bits: token))
    Unmanaged.passUnretained(member).release()
    return Self.isWatched(status)
  }

  /// True if `take` has to report members that epoll does not watch any more. The caller then wakes a loop that sleeps.
  /// - Thread: Any.
  var hasUnwatched: Bool { rlc_port_set_has_unwatched(set) }

  /// Tries to watch the refused members. True if epoll watches all members again.
  func retry() -> Bool { rlc_port_set_retry(set) >= 0 }

  private static func isWatched(_ status: Int32) -> Bool {
    status >= 0 || status == -EBADF || status == -ENOENT || status == -ECHILD
  }

  var members: [RunLoop.DescriptorItem] {
    var members: [RunLoop.DescriptorItem] = []
    var position: UInt32 = 0
    while let context = rlc_port_set_next(set, &position) {
      // `insert` has retained the member, and `remove` releases it. The core skips hints.
      members.append(Unmanaged<RunLoop.DescriptorItem>.fromOpaque(context).takeUnretainedValue())
    }
    return members
  }

  /// True if a poll would find an event, which may be stale. One system call. - Thread: The loop's own.
  var isReadable: Bool { Kernel.current.isReadable(fileDescriptor) }

  /// Pass true if only the member's own callouts read its descriptor, so that no fetched event of it becomes stale. May
  /// be true only for a member that was just inserted.
  func setOwned(_ isOwned: Bool, token: UInt64) { rlc_kit_set_owned(set, rlc_token(bits: token), isOwned) }

  var hasBatch: Bool { rlc_kit_has_batch(set) }

  /// True if an event of the token's member was fetched and not taken yet.
  func hasFetched(_ token: UInt64) -> Bool { rlc_kit_has_fetched(set, rlc_token(bits: token)) }

  /// True if the last wait has fetched all events that there were.
  var hasFetchedAll: Bool { rlc_kit_has_fetched_all(set) }

  /// Fetches events. Returns how many, or `-errno`. No lock is needed. A loop sleeps only here or in its host.
  @inline(never)
  func blockingWait(until deadline: UInt64) -> Int32 { rlc_port_set_wait(set, deadline) }

  func poll() -> Int32 { rlc_port_set_wait(set, 0) }

  func take() -> Event? {
    var event = rlc_port_event()
    guard rlc_port_set_take(set, &event) else { return nil }
    if event.kind == RLC_PORT_HINT || event.kind == RLC_PORT_WAKEUP {
      // The context of a hint is a raw value (`insertHint`), or the wakeup port.
      let hint = Hint(rawValue: Int(bitPattern: event.context)) ?? .wakeup
      return event.fate == RLC_FATE_WATCHED ? .hint(hint) : .lostHint(hint)
    }
    switch event.fate {
    case RLC_FATE_LOST: return .lost(event.context)
    case RLC_FATE_REFUSED: return .refused(event.context)
    default: return .port(event.context, ready: event.ready)
    }
  }
}
