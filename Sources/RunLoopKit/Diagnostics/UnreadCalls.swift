internal import RunLoopLibc

/// Finds level-triggered sources whose callouts leave their descriptors as they are, so that the loop calls them again
/// and again and never sleeps. - Thread: The loop's own.
struct UnreadCalls {
  /// After so many calls in a row a source is reported.
  static var most: Int { 10_000 }
  /// So many of these calls, the last ones, are looked at.
  private static var compared: Int { 16 }
  /// A callout that writes and takes longer shows nothing: meanwhile the other end may have read what it has written.
  /// In nanoseconds.
  private static var shortCall: UInt64 { 20_000 }
  /// The loop keeps counts for at most this many sources. When one more comes, it starts all counts again from zero.
  private static var mostSources: Int { 1000 }

  /// By the sources' addresses. A source that has the address of a destroyed one goes on with its count, which does no
  /// harm: the calls that are looked at decide.
  private var counts: [ObjectIdentifier: Int] = [:]
  /// Notices what arrives during a call that is looked at; made for the first one.
  private var arrivals: PortSet?
  /// The token of the descriptor in `arrivals`, while a call is looked at, and after a callout that was left.
  private var watched: UInt64?

  /// What was found before a call.
  fileprivate struct Look {
    let ready: UInt32
    let backlog: Backlog
    /// The descriptor's token in `arrivals`; nil if the call is not for reading.
    let token: UInt64?
    let began: UInt64
  }

  func destroy() { arrivals?.destroy() }

  /// Counts a call of the source that begins. Nil if the call need not be looked at, or would show nothing.
  fileprivate mutating func begin(
    _ source: RunLoop.FileDescriptorSource, _ ready: UInt32, _ kernel: Kernel?
  ) -> Look? {
    if counts.count >= Self.mostSources { counts.removeAll() }
    let count = counts[ObjectIdentifier(source), default: 0] + 1
    counts[ObjectIdentifier(source)] = count
    guard count > Self.most - Self.compared else { return nil }
    guard let backlog = Backlog(source.descriptor, ready, kernel), backlog.ready != 0 else {
      counts[ObjectIdentifier(source)] = 0
      return nil
    }
    let mayRead = ready & PortRegistration.readable != 0
    let token = mayRead ? watchArrivals(in: source.descriptor) : nil
    guard !mayRead || token != nil else { return nil }
    return Look(ready: ready, backlog: backlog, token: token, began: Kernel.now())
  }

  /// Called after a call that was looked at. True if the source has to be reported.
  fileprivate mutating func end(
    _ source: RunLoop.FileDescriptorSource, _ look: Look, _ kernel: Kernel?
  ) -> Bool {
    let isShort = look.ready & PortRegistration.writable == 0 || Kernel.now() &- look.began <= Self.shortCall
    let isUnchanged = Backlog(source.descriptor, look.ready, kernel) == look.backlog
    // Asked last, so that what was in the second backlog has arrived before.
    var isQuiet = true
    if let token = look.token { isQuiet = endArrivals(token) }
    let count = counts[ObjectIdentifier(source), default: 0]
    guard isUnchanged, source.isValid, source.interestNow & look.ready == look.ready else {
      counts[ObjectIdentifier(source)] = 0
      return false
    }
    guard isShort, isQuiet else {
      counts[ObjectIdentifier(source)] = max(count - Self.compared, 0)  // so much later it is looked at again
      return false
    }
    guard count >= Self.most else { return false }
    counts[ObjectIdentifier(source)] = 0
    return true
  }

  /// Begins to notice what arrives in the descriptor. Nil if the system refuses that.
  private mutating func watchArrivals(in descriptor: Int32) -> UInt64? {
    if arrivals == nil { arrivals = try? PortSet(nil) }
    guard let arrivals else { return nil }
    if let watched { arrivals.removeHint(watched) }
    watched = try? arrivals.insertHint(.timer, fileDescriptor: descriptor)
    _ = Self.takeEvents(of: arrivals)  // the event of what is there already
    return watched
  }

  /// True if nothing has arrived since `watchArrivals`.
  private mutating func endArrivals(_ token: UInt64) -> Bool {
    guard let arrivals, watched == token else { return false }  // a nested run has looked at another source
    let hasEvents = Self.takeEvents(of: arrivals)
    arrivals.removeHint(token)
    watched = nil
    return !hasEvents
  }

  private static func takeEvents(of set: PortSet) -> Bool {
    let hasEvents = set.poll() != 0
    while set.take() != nil {}
    return hasEvents
  }
}

/// What waits in a descriptor: reading or writing changes it.
private struct Backlog: Equatable {
  /// Which of the events in question are true, as bits of poll(2).
  let ready: Int32
  /// Bytes to read.
  let unread: Int32
  /// Bytes that the other end has not taken; -1 if the kernel does not tell.
  let unsent: Int32

  /// Nil if the kernel does not tell enough: of packets it tells the size of the next one, of a listener, an eventfd
  /// and their like nothing.
  init?(_ descriptor: Int32, _ ready: UInt32, _ kernel: Kernel?) {
    var (type, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
    let isSocket = getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0
    var (unread, unsent) = (Int32(-1), Int32(-1))
    if ioctl(descriptor, 0x541B, &unread) < 0 { unread = -1 }  // FIONREAD
    if ioctl(descriptor, 0x5411, &unsent) < 0 { unsent = -1 }  // TIOCOUTQ
    if unread < 0 || isSocket && type != 1 { return nil }  // 1 is SOCK_STREAM
    var events = Int32(0)
    if ready & PortRegistration.readable != 0 { events |= Int32(POLLIN) }
    if ready & PortRegistration.writable != 0 { events |= Int32(POLLOUT) }
    if ready & PortRegistration.priority != 0 { events |= Int32(POLLPRI) }
    let found = kernel.poll(descriptor, events)
    (self.ready, self.unread, self.unsent) = (found < 0 ? 0 : found & events, unread, unsent)
  }
}

extension RunLoop.FileDescriptorSource {
  /// Calls the handler on a loop that counts. - Thread: The loop's own.
  @inline(never)
  func serveCounted(_ ready: UInt32, _ counters: UnsafeMutablePointer<Counters>, on loop: RunLoop) {
    counters.pointee.add(1, to: .portCallouts)
    let watch = isLevelTriggered ? counters.pointee.watch : nil
    let look = watch?.unread.begin(self, ready, loop.kernel)
    __RUNLOOPKIT_IS_CALLING_OUT_TO_A_DESCRIPTOR_SOURCE__(self, Readiness(rawValue: ready))
    guard let watch, let look, watch.unread.end(self, look, loop.kernel) else { return }
    let isReading = ready & PortRegistration.readable != 0
    let remedy =
      isReading
      ? "read until the call would block, or take the interest away"
      : "take .writable out of its interest while there is nothing to write"
    Diagnosis.hintLocked(
      once: "unread: \(nameForDiagnostics) \(descriptor)",
      "\(nameForDiagnostics) was called \(UnreadCalls.most) times in a row, and its descriptor \(descriptor) is as "
        + "\(Readiness(rawValue: ready)) as before: the callout does not use it, and the loop never sleeps; \(remedy)")
  }

  /// True for a source that is called as long as its descriptor is ready. A descriptor that the kernel does not watch
  /// is always ready, so that calls in a row say nothing.
  private var isLevelTriggered: Bool {
    wanted.load(ordering: .relaxed) & (PortRegistration.edge | PortRegistration.oneShot) == 0 && standIn == nil
  }
}
