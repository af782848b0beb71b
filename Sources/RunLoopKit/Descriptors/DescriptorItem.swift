internal import RunLoopLibc
internal import Synchronization

extension RunLoop {
  /// The superclass of port sources, file descriptor sources and sources of system events, which all have a descriptor.
  ///
  /// Programs neither subclass nor instantiate it.
  open class DescriptorItem: Item, @unchecked Sendable {
    /// `RLC_` bits of the core. The four lowest and the highest are the interest. The others say how the core reports
    /// readiness.
    final let wanted: Atomic<UInt8>
    /// The descriptor. A source of system events owns its descriptor, and only the loop uses it.
    package final let descriptor: Int32

    /// The descriptor must have passed `check`.
    init(
      _ kind: Kind, fileDescriptor: Int32, interest: UInt32, order: Int, onlyLoop: RunLoop?,
      descriptors: ItemDescriptors?
    ) {
      descriptor = fileDescriptor
      wanted = Atomic(UInt8(truncatingIfNeeded: interest))
      super.init(kind, order: order, onlyLoop: onlyLoop, descriptors: descriptors)
    }

    /// Refuses negative numbers. A descriptor that is not open is refused by epoll_ctl(2) when the item is added.
    static func check(_ fileDescriptor: Int32) throws(RunLoopError) {
      if fileDescriptor < 0 { throw refusal(of: fileDescriptor) }
    }

    @inline(never)
    private static func refusal(of fileDescriptor: Int32) -> RunLoopError {
      .system(EBADF, DescriptorWords.isNone(fileDescriptor))
    }

    final func checkOpen() throws(RunLoopError) {
      try RunLoopError.checkErrno(
        fcntl(descriptor, F_GETFD), "fcntl", DescriptorWords.state(descriptor, errno))
    }

    @inline(__always)
    final var registration: PortRegistration {
      PortRegistration(
        fileDescriptor: standIn?.fileDescriptor ?? descriptor, isCounter: kind == .portSource,
        interest: UInt32(wanted.load(ordering: .acquiring)))
    }
  }
}
