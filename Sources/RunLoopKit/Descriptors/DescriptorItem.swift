internal import RunLoopLibc
internal import Synchronization

extension RunLoop {
  /// The superclass of port sources, file descriptor sources and sources of system events, which all have a descriptor.
  ///
  /// A program neither subclasses it nor creates one.
  open class DescriptorItem: Item, @unchecked Sendable {
    /// `RLC_` bits: interest in the lower half and the highest one, how it reports in between.
    final let wanted: Atomic<UInt8>
    /// Of a source of system events it is the source's own, for the loop alone.
    package final let descriptor: Int32

    /// Of a descriptor that `check` lets pass.
    init(
      _ kind: Kind, fileDescriptor: Int32, interest: UInt32, order: Int, onlyHost: RunLoop?,
      descriptors: ItemDescriptors?
    ) {
      descriptor = fileDescriptor
      wanted = Atomic(UInt8(truncatingIfNeeded: interest))
      super.init(kind, order: order, onlyHost: onlyHost, descriptors: descriptors)
    }

    /// Whether it is open, epoll_ctl(2) says when it is added.
    @inline(__always)
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
