extension ModePointer {
  /// Takes the oldest fetched event that is not stale. - Thread: The loop's own.
  func takeEvent(on loop: RunLoop) -> PassEvent? {
    ports.set!.hasBatch ? takeFetchedEvent(on: loop) : nil  // a run or a host has made the set
  }

  @inline(never)
  func takeFetchedEvent(on loop: RunLoop) -> PassEvent? {
    let set = ports.set!  // not nil, because it has a batch
    loop.lock.lock()
    defer { loop.lock.unlock() }
    while let event = set.take() {
      switch event {
      case .lost(let context):
        let item = Unmanaged<RunLoop.DescriptorItem>.fromOpaque(context).takeUnretainedValue()
        if let event = takeLost(item) { return event }
      case .lostHint(let hint):
        noteLost(hint, on: loop)
      case .refused(let context):
        noteUnwatched(Unmanaged<RunLoop.Item>.fromOpaque(context).takeUnretainedValue(), on: loop)
      case .port(let context, let ready):
        // The set retains its members, and drops the events of a member that it removes.
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

  /// Called when an item's descriptor was closed while the item was a member. A descriptor source is called with an
  /// error and no other readiness. The handlers of other items would take such a call for an event, so the loop reports
  /// the loss instead. Under the lock.
  @inline(never)
  private func takeLost(_ item: RunLoop.DescriptorItem) -> PassEvent? {
    if item.kind == .descriptorSource {
      item.explainClosed()
      return .port(.passRetained(item), ready: PortRegistration.failed)
    }
    let name = item.kind == .portSource ? "a port source" : "an event source"
    let why = "its descriptor \(item.descriptor) was closed while it was a member"
    Diagnosis.warnLocked("\(name)\(item.labelText) gets no more events: \(why)")
    return nil
  }

  /// Called when other code has closed one of the loop's own descriptors. Timers work without a descriptor. Under the
  /// lock.
  @inline(never)
  private func noteLost(_ hint: PortSet.Hint, on loop: RunLoop) {
    switch hint {
    case .timer, .continuousTimer, .wallTimer:
      timers.lose(hint, in: ports.set!)  // the set that has reported the loss
      armTimers(on: loop)
    case .wakeup: loop.demandWakeupRenewal()
    case .mainQueue:
      loop.mainQueueIsLost()
      Diagnosis.warnLocked("the main queue does not wake the loop any more: its eventfd was closed")
    }
  }
}
