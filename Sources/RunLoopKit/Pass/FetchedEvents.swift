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
