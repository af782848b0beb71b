internal import Synchronization

/// The port set of a mode, and the members that epoll does not watch. Guarded by the loop's lock.
struct ModePorts: ~Copyable {
  /// The members that epoll refuses to watch again; nil if there are none.
  var unwatched: Unwatched?
  /// Made when a descriptor or a port is added, or when a run or a host needs it. The loop's thread reads it without
  /// the lock. ThreadSanitizer counts a change of any field as a change of the first field too, so this field must not
  /// be the first.
  fileprivate(set) var set: PortSet?
  /// The errno of the mode's waits, if they have failed for good; else 0.
  var waitFailure: Int32 = 0
  /// The token of the main queue's handle in the set, in a common mode of the main loop; 0 if the set does not watch
  /// the handle. The loop's thread reads it without the lock.
  let mainQueueToken = Atomic<UInt64>(0)

  var members: [RunLoop.DescriptorItem] { self.set?.members ?? [] }

  /// Closes the set, whose members have left.
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
  /// True if the port set exists. An existing set watches those of the loop's own descriptors that the mode needs; only
  /// the handle of the main queue may be missing.
  var hasHints: Bool { ports.set != nil }

  /// Makes the port set unless it exists. The set also watches the timerfds of the mode's timers, so that an expiry has
  /// its place among the ready ports.
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
