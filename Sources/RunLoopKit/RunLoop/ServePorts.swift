extension RunLoop {
  /// Serves what was found ready, each kind in its own way: recorded, timed, and within its limit. True if it was
  /// called: it may have left the mode since it became ready.
  @inline(__always)
  func serve(_ item: Item, ready: UInt32, in mode: ModePointer) -> Bool {
    let timing = CalloutTiming(on: self)
    let hasCalled = serveRecorded(item, ready: ready, in: mode)
    if hasCalled { timing.end(item, on: self) } else { timing.end(on: self) }
    return hasCalled
  }

  private func serveRecorded(_ item: Item, ready: UInt32, in mode: ModePointer) -> Bool {
    callouts.begin(item)
    defer { callouts.end(on: self) }
    guard item.isValid, item.isMember(of: mode) else { return false }
    guard let descriptors = item.descriptors else { return item.serve(ready: ready, in: mode, of: self) }
    guard let limiter = descriptors.limiter else { return serve(item, descriptors.owned, ready: ready, in: mode) }
    return limiter.serve(item, ready: ready, in: mode, of: self) {
      serve(item, descriptors.owned, ready: ready, in: mode)
    }
  }

  /// What the item owns stays open meanwhile, and is closed by the end of the thread if its callout ends that.
  private func serve(_ item: Item, _ owned: OwnedDescriptor?, ready: UInt32, in mode: ModePointer) -> Bool {
    guard let owned else { return item.serve(ready: ready, in: mode, of: self) }
    guard owned.hold() else { return false }  // invalidated by another thread a moment ago
    owner.servedOwners.append(item)
    let hasCalled = item.serve(ready: ready, in: mode, of: self)
    owner.servedOwners.removeLast()
    owned.release()
    if hasCalled, item.kind == .eventSource || item.kind == .connection { count(.portCallouts) }
    return hasCalled
  }
}

// MARK: Readiness sources in nested runs

extension RunLoop {
  @inline(__always)
  func beginServing(_ source: FileDescriptorSource, in mode: ModePointer) -> Bool {
    // A pass serves it.
    let activation = owner.activation!
    // Removed and added again in its own callout.
    if isServed(source, above: activation) {
      lock.withLock { muteServedPorts(in: mode) }
      return false
    }
    activation.beginServing(source)
    return true
  }

  @inline(__always)
  func endServing(_ source: FileDescriptorSource) {
    // A pass has served it.
    if owner.activation!.endServing() { lock.withLock { setMuted(false, source) } }
  }

  /// A nested run begins: the readiness sources whose callouts are on the stack are taken out of its set. Removed, not
  /// masked: a hang-up would be reported all the same. Under the lock.
  func muteServedPorts(in mode: ModePointer) {
    var enclosing = owner.activation
    while let activation = enclosing {
      if let source = activation.serving, let token = source.token(in: mode) {
        mode.setMuted(true, source, token, on: self)
        activation.noteMuted()
      }
      enclosing = activation.parent
    }
  }

  private func isServed(_ source: FileDescriptorSource, above activation: Activation) -> Bool {
    var enclosing = activation.parent
    while let activation = enclosing {
      if activation.serving === source { return true }
      enclosing = activation.parent
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
          if link.mode?.ports.set?.hasUnheard == true { wakes.word.kick() }  // others on the number
        }
      }
    }
    if let failure { throw failure }
  }
}
