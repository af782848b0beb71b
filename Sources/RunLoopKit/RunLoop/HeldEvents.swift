// An event that a hosted loop has found before its pass: whom the host has called meanwhile, and the blocks and sources
// of the pass, may have made it untrue. CFRunLoop looks after them.

internal import RunLoopLibc

extension PassEvent {
  /// The event, as far as it still is true; nil, and dropped, if it is not. One system call for that of a
  /// descriptor source, of which it says that it can be read or written. All other events last, or were taken with what
  /// they tell.
  @inline(never)
  var ifStillTrue: PassEvent? {
    guard case .port(let item, let ready) = self else { return self }
    let plain = PortRegistration.readable | PortRegistration.writable
    guard item.takeUnretainedValue().kind == .descriptorSource, ready & ~plain == 0 else { return self }
    // Proof: its kind.
    let source = unsafeDowncast(item.takeUnretainedValue(), to: RunLoop.FileDescriptorSource.self)
    let left = ready & source.readyNow
    if left != 0 { return .port(item, ready: left) }
    // If the kernel refuses to arm it again, a call too many is the smaller evil.
    if source.isOneShot, (try? source.setInterest(source.interest)) == nil { return self }
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
}
