internal import RunLoopLibc

/// Finds level-triggered sources whose callouts leave their descriptors as they are, so that the loop calls them again
/// and again and never sleeps. - Thread: The loop's own.
struct UnreadCalls {
  /// After so many calls in a row a source is reported.
  static var most: Int { 10_000 }
  /// So many of these calls, the last ones, are looked at.
  private static var compared: Int { 16 }
  /// More sources than this are not told apart; their counts begin anew.
  private static var mostSources: Int { 1000 }

  /// By the sources' addresses. A source that has the address of a destroyed one goes on with its count, which does no
  /// harm: the calls that are looked at decide.
  private var counts: [ObjectIdentifier: Int] = [:]

  /// Counts a call of the source that begins. True if the descriptor has to be looked at before and after it.
  fileprivate mutating func begin(_ source: RunLoop.FileDescriptorSource) -> Bool {
    if counts.count >= Self.mostSources { counts.removeAll() }
    let count = counts[ObjectIdentifier(source), default: 0] + 1
    counts[ObjectIdentifier(source)] = count
    return count > Self.most - Self.compared
  }

  /// Called after a call that was looked at. True if the source has to be reported.
  fileprivate mutating func end(_ source: RunLoop.FileDescriptorSource, isUnchanged: Bool) -> Bool {
    let count = counts[ObjectIdentifier(source), default: 0]
    if !isUnchanged || count >= Self.most { counts[ObjectIdentifier(source)] = 0 }
    return isUnchanged && count >= Self.most
  }
}

/// What waits in a descriptor: reading or writing changes it.
private struct Backlog: Equatable {
  /// Which of the events in question are true, as bits of poll(2).
  let ready: Int32
  /// Bytes to read; -1 if the kernel does not tell.
  let unread: Int32
  /// Bytes that the other end has not taken; -1 if the kernel does not tell.
  let unsent: Int32

  /// Nil if the kernel does not tell enough: of packets it tells the size of the next one, of a listener nothing.
  init?(_ descriptor: Int32, _ ready: UInt32, _ kernel: Kernel?) {
    var (type, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
    let isSocket = getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0
    var (unread, unsent) = (Int32(-1), Int32(-1))
    if ioctl(descriptor, 0x541B, &unread) < 0 { unread = -1 }  // FIONREAD
    if ioctl(descriptor, 0x5411, &unsent) < 0 { unsent = -1 }  // TIOCOUTQ
    if isSocket, type != 1 || unread < 0 { return nil }  // 1 is SOCK_STREAM
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
    let before = watch?.unread.begin(self) == true ? Backlog(descriptor, ready, loop.kernel) : nil
    __RUNLOOPKIT_IS_CALLING_OUT_TO_A_DESCRIPTOR_SOURCE__(self, Readiness(rawValue: ready))
    guard let watch, let before else { return }
    let after = isValid && interestNow & ready == ready ? Backlog(descriptor, ready, loop.kernel) : nil
    guard watch.unread.end(self, isUnchanged: before == after && before.ready != 0) else { return }
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
