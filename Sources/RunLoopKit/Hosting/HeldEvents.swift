// An event that a hosted loop has found before its pass: whom the host has called meanwhile, and the blocks and sources
// of the pass, may have made it untrue. CFRunLoop looks after them.

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
  /// The event, as far as it still is true; nil, and dropped, if nothing of it is. One system call for that of a
  /// descriptor source, if it says that the descriptor can be read or written. All other events last, or were taken
  /// with what they tell.
  @inline(never)
  func ifStillTrue(in mode: ModePointer, of loop: RunLoop) -> PassEvent? {
    guard case .port(let item, let ready) = self else { return self }
    let plain = PortRegistration.readable | PortRegistration.writable
    // What has priority may be gone once poll(2) has told of it.
    let isAsked = ready & plain != 0 && ready & PortRegistration.priority == 0
    guard isAsked, item.takeUnretainedValue().kind == .descriptorSource else { return self }
    // Proof: its kind.
    let source = unsafeDowncast(item.takeUnretainedValue(), to: RunLoop.FileDescriptorSource.self)
    let left = ready & (source.readyNow | ~plain)
    if left != 0 { return .port(item, ready: left) }
    // If the kernel refuses to arm it again, a call too many is the smaller evil.
    if source.isOneShot, !source.armAgain(in: mode, of: loop) { return self }
    drop()
    return nil
  }
}

extension RunLoop.FileDescriptorSource {
  /// Whether it can be read or written now; both if the kernel does not say.
  fileprivate var readyNow: UInt32 {
    let found = Kernel.current.poll(registration.fileDescriptor, Int32(POLLIN | POLLOUT))
    guard found >= 0 else { return PortRegistration.readable | PortRegistration.writable }
    return (found & Int32(POLLIN) != 0 ? PortRegistration.readable : 0)
      | (found & Int32(POLLOUT) != 0 ? PortRegistration.writable : 0)
  }

  fileprivate var isOneShot: Bool { registration.interest & UInt32(PortRegistration.oneShot) != 0 }

  /// Here alone, for what it is interested in now: in other modes and loops its event may have been served. False if
  /// the kernel refuses; true if it has left the mode.
  fileprivate func armAgain(in mode: ModePointer, of loop: RunLoop) -> Bool {
    loop.lock.withLock {
      guard let token = token(in: mode) else { return true }
      let registration = registration
      let set = mode.ports.set
      return (try? set?.setInterest(registration.interest, token: token, of: registration.fileDescriptor)) != nil
    }
  }
}
