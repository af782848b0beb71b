// Events that a hosted loop has found before the pass that serves them. Meanwhile other code of the host, or a block or
// source of the pass, may have read from the descriptor. CFRunLoop finds no events so early: it polls after the
// sources.

internal import RunLoopLibc

extension RunLoop {
  func holdHostedEvent(_ event: PassEvent, of mode: ModePointer) {
    hostedWaits.hold(event, of: mode)
    owner.holdsHostedEvent = true
  }

  func takeHostedEvent(for mode: ModePointer) -> PassEvent? {
    guard let hosted = owner.hosted else { return nil }
    defer { owner.holdsHostedEvent = hosted.holdsEvents }
    return hosted.takeEvent(for: mode)
  }
}

extension PassEvent {
  /// Returns what is left of the event; if nothing is left, drops it and returns nil. Polls the descriptor of a
  /// descriptor source again, by one system call. All other events stay true, or were taken together with their data.
  @inline(never)
  func ifStillTrue(in mode: ModePointer, of loop: RunLoop) -> PassEvent? {
    guard case .port(let item, let ready) = self else { return self }
    let plain = PortRegistration.readable | PortRegistration.writable
    // An event with urgent data is not polled again, because poll(2) reports such data of some files only once.
    let isAsked = ready & plain != 0 && ready & PortRegistration.priority == 0
    guard isAsked, let source = item.takeUnretainedValue() as? RunLoop.FileDescriptorSource else { return self }
    let left = ready & (source.readyNow | ~plain)
    if left != 0 { return .port(item, ready: left) }
    // If the kernel refuses to arm the source again, no later event will come, so the loop calls it for this one.
    if source.isOneShot, !source.armAgain(in: mode, of: loop) { return self }
    drop()
    return nil
  }
}

extension RunLoop.FileDescriptorSource {
  /// `readable` if the descriptor can be read now, and `writable` if it can be written. If the system call fails, both.
  fileprivate var readyNow: UInt32 {
    let found = Kernel.current.poll(registration.fileDescriptor, Int32(POLLIN | POLLOUT))
    guard found >= 0 else { return PortRegistration.readable | PortRegistration.writable }
    return (found & Int32(POLLIN) != 0 ? PortRegistration.readable : 0)
      | (found & Int32(POLLOUT) != 0 ? PortRegistration.writable : 0)
  }

  fileprivate var isOneShot: Bool { registration.interest & UInt32(PortRegistration.oneShot) != 0 }

  /// Arms the source again for its present interest, and only in this mode: in other modes and loops its event may have
  /// been served. Returns false if the kernel refuses, and true if the source has left the mode.
  fileprivate func armAgain(in mode: ModePointer, of loop: RunLoop) -> Bool {
    loop.lock.withLock {
      guard let token = token(in: mode) else { return true }
      let registration = registration
      let set = mode.ports.set
      return (try? set?.setInterest(registration.interest, token: token, of: registration.fileDescriptor)) != nil
    }
  }
}
