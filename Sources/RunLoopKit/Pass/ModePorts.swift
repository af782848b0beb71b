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

  /// A fetch of the mode tells of the main queue's signals.
  var hearsOfMainQueue: Bool { ports.mainQueueToken.load(ordering: .acquiring) != 0 }

  func insertMainQueueHint(on loop: RunLoop) throws(RunLoopError) {
    guard loop.isMain, isCommon, ports.mainQueueToken.load(ordering: .relaxed) == 0, let set = ports.set,
      let descriptor = try MainQueuePort.fileDescriptor()
    else { return }
    do throws(RunLoopError) {
      let token = try set.insertHint(.mainQueue, fileDescriptor: descriptor)
      ports.mainQueueToken.store(token, ordering: .releasing)
    } catch {
      if MainQueuePort.isThere { throw error }  // else the main thread has ended meanwhile, and the handle with it
    }
  }

  /// Out of the wait, or back.
  @inline(__always)
  func setMuted(_ isMuted: Bool, _ item: RunLoop.Item, _ token: UInt64, on loop: RunLoop) {
    guard let set = ports.set else { return }
    if !set.setMuted(isMuted, token: token) { noteUnwatched(item, on: loop) }
    if set.hasUnwatched { loop.kick() }
  }
}

extension RunLoop.Item {
  /// The same in all its modes of the loop.
  final func setMuted(_ isMuted: Bool, on loop: RunLoop) {
    withLinks { links in
      for link in links where link.host === loop { link.mode?.setMuted(isMuted, self, link.token, on: loop) }
    }
  }
}

extension RunLoop.DescriptorItem {
  /// Registers its interest in all its modes of the loop. `isServed`: in its own callout.
  final func tellInterest(on loop: RunLoop, isServed: Bool) throws(RunLoopError) {
    var failure: RunLoopError?
    withLinks { links in
      for link in links where link.host === loop {
        do throws(RunLoopError) {
          try link.mode?.ports.set?.setInterest(
            registration.interest, token: link.token, of: registration.fileDescriptor, isServed: isServed)
        } catch {
          failure = error
          if link.mode?.ports.set?.hasUnwatched == true { loop.kick() }  // others on the number
        }
      }
    }
    if let failure { throw failure }
  }
}

// MARK: Fetched events

extension ModePointer {
  /// The oldest one that is still true. [loop]
  @inline(__always)
  func takeEvent(on loop: RunLoop) -> PassEvent? {
    // The mode of a run or of a host: both make the set first.
    ports.set!.hasBatch ? takeFetchedEvent(on: loop) : nil
  }

  @inline(never)
  func takeFetchedEvent(on loop: RunLoop) -> PassEvent? {
    // It has a batch.
    let set = ports.set!
    loop.lock.lock()
    defer { loop.lock.unlock() }
    while let event = set.take() {
      switch event {
      case .lost(let context):
        if let event = takeLost(Unmanaged<RunLoop.Item>.fromOpaque(context).takeUnretainedValue()) { return event }
      case .lostHint(let hint):
        noteLost(hint, on: loop)
      case .refused(let context):
        noteUnwatched(Unmanaged<RunLoop.Item>.fromOpaque(context).takeUnretainedValue(), on: loop)
      case .port(let context, let ready):
        // A member: retained by the set, which forgets the events of what is removed. Under the lock.
        return .port(Unmanaged<RunLoop.Item>.fromOpaque(context).retain(), ready: ready)
      case .hint(.wakeup):
        continue
      case .hint(.mainQueue):
        loop.mainQueueCame()
      case .hint(let timer):
        timers.noteExpiry(timer)
        if timers.takeExpiry(soft: true) { return .timer }
        armTimers(on: loop)
      }
    }
    return nil
  }

  /// The item's descriptor was closed while it was a member: a descriptor source receives an error alone; for the
  /// others, whose handlers would take that for an event, the loop reports it. Under the lock.
  @inline(never)
  private func takeLost(_ item: RunLoop.Item) -> PassEvent? {
    if item.kind == .descriptorSource { return .port(.passRetained(item), ready: PortRegistration.failed) }
    // Proof: `Item.Kind`. Nothing else is in a port set.
    let number = unsafeDowncast(item, to: RunLoop.DescriptorItem.self).descriptor
    let name = item.kind == .portSource ? "a port source" : "an event source"
    let why = "its descriptor \(number) was closed while it was a member"
    Diagnosis.warnLocked("\(name)\(item.labelText) gets no more events: \(why)")
    return nil
  }

  /// Other code has closed one of the loop's own descriptors. Timers work without theirs. Under the lock.
  @inline(never)
  private func noteLost(_ hint: PortSet.Hint, on loop: RunLoop) {
    switch hint {
    case .timer, .continuousTimer, .wallTimer:
      timers.lose(hint, in: ports.set!)  // which has told of it
      armTimers(on: loop)
    case .wakeup: loop.demandWakeupRenewal()
    case .mainQueue:
      loop.mainQueueIsLost()
      Diagnosis.warnLocked("the main queue does not wake the loop any more: its eventfd was closed")
    }
  }
}

/// The event that a pass serves: at most one. Who takes an event serves it, or drops it.
enum PassEvent {
  case none
  case timer
  case mainQueue
  /// The wait has failed for good: the run ends.
  case failed
  /// Retained once; counted by hand, since it goes through many hands, each of which would count.
  case port(Unmanaged<RunLoop.Item>, ready: UInt32)

  /// It will not be served.
  func drop() { if case .port(let item, _) = self { item.release() } }
}
