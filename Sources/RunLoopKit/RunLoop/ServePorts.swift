extension RunLoop {
  /// True if a source was called: it may have left the mode since the port became ready.
  @inline(__always)
  func serve(_ item: Item, ready: UInt32, _ activation: UnsafeMutablePointer<Activation>) -> Bool {
    let began = beginTiming()
    let hasCalled = serveRecorded(item, ready: ready, activation)
    if began != 0 { if hasCalled { calloutHasTaken(since: began, item) } else { endTiming(began) } }
    return hasCalled
  }

  private func serveRecorded(_ item: Item, ready: UInt32, _ activation: UnsafeMutablePointer<Activation>) -> Bool {
    beginCallout(item)
    defer { endCallout() }
    guard item.isValid, item.isMember(of: activation.pointee.mode) else { return false }
    if let limiter = item.limiter { return serve(item, ready: ready, activation, limiter) }
    return serveUnlimited(item, ready: ready, activation)
  }

  @inline(__always)
  func serveUnlimited(_ item: Item, ready: UInt32, _ activation: UnsafeMutablePointer<Activation>) -> Bool {
    if item.kind == .portSource {
      count(.portCallouts)
      if ready == PortRegistration.failed { tellFailedRead(item) }
      // Proof: `Item.Kind`.
      return __RUNLOOPKIT_IS_CALLING_OUT_TO_A_PORT_SOURCE__(unsafeDowncast(item, to: PortSource.self))
    }
    if item.kind != .descriptorSource { return serveEvent(of: item, ready: ready, in: activation.pointee.mode) }
    // Proof: `Item.Kind`.
    let source = unsafeDowncast(item, to: FileDescriptorSource.self)
    let ready = ready & source.interestNow  // an observer of after-waiting may have changed it
    if ready == 0 { return false }
    if isServed(source, above: activation) {  // removed and added again in its own callout
      lock.withLock { muteServedPorts(in: activation.pointee.mode) }
      return false
    }
    let owned = source.owned
    if let owned {
      guard owned.hold() else { return false }  // invalidated by another thread a moment ago
      owner.servedOwners.append(source)
    }
    count(.portCallouts)
    // The caller holds it until `serving` is nil again.
    activation.pointee.serving = Unmanaged.passUnretained(source)
    __RUNLOOPKIT_IS_CALLING_OUT_TO_A_DESCRIPTOR_SOURCE__(source, FileDescriptorSource.Readiness(rawValue: ready))
    activation.pointee.serving = nil
    if activation.pointee.isServingMuted {
      activation.pointee.isServingMuted = false
      lock.withLock { setMuted(false, source) }
    }
    if let owned {
      owner.servedOwners.removeLast()
      owned.release()
    }
    return true
  }

  /// Its handler, which is called for it, cannot tell it from a message.
  @inline(never)
  private func tellFailedRead(_ item: Item) {
    // Proof: `Item.Kind`.
    let number = unsafeDowncast(item, to: DescriptorItem.self).fileDescriptor
    let why = "its descriptor \(number) cannot be read"
    StandardError.write("RunLoopKit: a port source\(item.labelText) rests until it is added anew: \(why)\n")
  }

  /// A nested run begins: the readiness sources whose callouts are on the stack are taken out of its set. Removed, not
  /// masked: a hang-up would be reported all the same. Under the lock.
  func muteServedPorts(in mode: ModePointer) {
    var enclosing = owner.activation
    while let activation = enclosing {
      if let source = activation.pointee.serving?.takeUnretainedValue(), let token = source.token(in: mode) {
        mode.setMuted(true, source, token, on: self)
        activation.pointee.isServingMuted = true
      }
      enclosing = activation.pointee.parent
    }
  }

  private func isServed(_ source: FileDescriptorSource, above activation: UnsafeMutablePointer<Activation>) -> Bool {
    var enclosing = activation.pointee.parent
    while let activation = enclosing {
      if activation.pointee.serving?.takeUnretainedValue() === source { return true }
      enclosing = activation.pointee.parent
    }
    return false
  }

  /// In all its modes of this loop. Under the lock.
  func setMuted(_ isMuted: Bool, _ item: Item) {
    item.withLinks { links in
      for link in links where link.host === self {
        if let mode = link.mode { mode.setMuted(isMuted, item, link.token, on: self) }
      }
    }
  }

  func interestChanged(_ source: DescriptorItem) throws(RunLoopError) {
    guard isUsable else { return }
    lock.lock()
    defer { lock.unlock() }
    var failure: RunLoopError?
    source.withLinks { links in
      for link in links where link.host === self {
        do throws(RunLoopError) {
          try link.mode?.ports.set?.setInterest(source.registration.interest, token: link.token)
        } catch {
          failure = error
          if link.mode?.ports.set?.hasUnheard == true { wakeWord.kick() }  // others on the number
        }
      }
    }
    if let failure { throw failure }
  }
}

extension RunLoop {
  /// A source of system events, or a port with messages, is ready: a member, and valid, a moment ago.
  @inline(never)
  func serveEvent(of item: Item, ready: UInt32, in mode: ModePointer) -> Bool {
    // Proof: `Item.Kind`.
    if item.kind == .port { return unsafeDowncast(item, to: Port.self).serveMessage(on: self) }
    guard let owned = item.owned, owned.hold() else { return false }
    // Proof: `Item.Kind`. The caller has served the other kinds with a descriptor; the rest is never in a port set.
    let source = unsafeDowncast(item, to: EventSource.self)
    owner.servedOwners.append(source)
    let hasCalled = source.serve(ready: ready, in: mode, of: self)
    owner.servedOwners.removeLast()
    owned.release()
    if hasCalled { count(.portCallouts) }
    return hasCalled
  }
}

extension RunLoop.Port {
  /// It was ready a moment ago, is valid and a member: false if its message has gone.
  @inline(never)
  fileprivate func serveMessage(on loop: RunLoop) -> Bool {
    guard let message = mailbox.take() else { return false }
    loop.count(.portCallouts)
    __RUNLOOPKIT_IS_CALLING_OUT_TO_A_PORT__(self, message)
    return true
  }
}
