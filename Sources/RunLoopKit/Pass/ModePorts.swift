internal import Synchronization

/// The events of a mode from the kernel: its port set, and the members that epoll does not watch. Guarded by the loop's
/// lock.
struct ModePorts: ~Copyable {
  /// Members that epoll refuses to watch again; nil if there are none, which is the usual case.
  var unwatched: Unwatched?
  /// Made with the first member that has a descriptor, or by the mode's first run. Its thread reads it without the
  /// lock; not the first field, which ThreadSanitizer takes for changed with each of the others.
  fileprivate(set) var set: PortSet?
  /// Why its waits fail; 0: they do not.
  var waitFailure: Int32 = 0
  /// The main queue's place in the set, of a common mode of the main loop; 0: it has none. Its thread reads it without
  /// the lock.
  let mainQueueToken = Atomic<UInt64>(0)

  var members: [RunLoop.DescriptorItem] {
    // Proof: `register` inserts nothing but descriptor items; hints are no members.
    self.set?.members.map { unsafeDowncast($0, to: RunLoop.DescriptorItem.self) } ?? []
  }

  /// The members have left.
  mutating func destroy() {
    set?.destroy()
    set = nil
    unwatched = nil
    waitFailure = 0
    mainQueueToken.store(0, ordering: .releasing)
  }

  deinit { set?.destroy() }
}

// MARK: The set. Under the lock

extension ModePointer {
  /// The port set is made and knows all of the mode's descriptors that its members need, but the main queue's.
  @inline(__always)
  var hasHints: Bool { ports.set != nil }

  /// Made when a descriptor or a port is added, or when a run or a host needs it. The first descriptor finds timerfds
  /// that are armed: from here on an expiry has its place among the ready ports.
  func makePortSet(on loop: RunLoop) throws(RunLoopError) {
    if ports.set == nil {
      _ = try loop.makeWakeup()
      let set = try PortSet(loop.kernel)
      do throws(RunLoopError) {
        try loop.watchWakeup(in: set)
      } catch {
        set.destroy()
        throw error
      }
      ports.set = set
      timers.enterPorts(set, on: loop)
    }
    try insertMainQueueHint(on: loop)
  }
}
