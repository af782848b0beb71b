internal import Glibc
internal import Synchronization

extension RunLoop {
  /// What port sources and file descriptor sources share: a descriptor that belongs to the caller.
  public class DescriptorItem: Item, @unchecked Sendable {
    /// `RLC_` bits, four of them.
    final let wanted: Atomic<UInt8>
    /// The descriptor, which stays the caller's and must stay open while the item is a member of a mode.
    public final let fileDescriptor: Int32

    init(
      _ kind: Kind, fileDescriptor: Int32, interest: UInt32, order: Int, context: Context?, onlyHost: RunLoop?
    ) throws(RunLoopError) {
      // Whether it is open, epoll_ctl(2) says when it is added.
      guard fileDescriptor >= 0 else { throw .systemCall(name: "fcntl", errno: EBADF) }
      self.fileDescriptor = fileDescriptor
      wanted = Atomic(UInt8(truncatingIfNeeded: interest))
      super.init(kind, order: order, context: context, onlyHost: onlyHost)
    }

    final func checkOpen() throws(RunLoopError) {
      guard fcntl(fileDescriptor, F_GETFD) >= 0 else { throw .systemCall(name: "fcntl", errno: errno) }
    }

    final var registration: PortRegistration {
      PortRegistration(
        fileDescriptor: fileDescriptor, isCounter: kind == .portSource,
        interest: UInt32(wanted.load(ordering: .acquiring)))
    }
  }

  /// A port source (version 1) on a counter: an eventfd, a timerfd or a pipe of eight-byte messages.
  ///
  /// The loop takes eight bytes before it calls: one callout per message. Wakes its loop by itself. Served in the order of
  /// readiness, whatever `order` says. A short message is taken whole and calls once; end of file calls once, then the port
  /// rests until it is added anew. The descriptor should not block: in modes of several loops a read could wait for a count
  /// that another loop has taken. With two sources on one descriptor in a mode the later one is called.
  /// Source: `CFRunLoopSourceRef` with a version 1 context.
  public final class PortSource: DescriptorItem, @unchecked Sendable {
    let body: (PortSource) -> Void

    /// - Parameter perform: Called on the thread of the loop that runs, with no lock held.
    /// - Throws: `.systemCall` with `EBADF` if the descriptor is negative. One that is not open is refused by `add` (`EBADF`).
    public init(
      fileDescriptor: Int32, order: Int = 0, context: Context? = nil,
      perform: @escaping @Sendable (PortSource) -> Void
    ) throws(RunLoopError) {
      body = perform
      try super.init(
        .portSource, fileDescriptor: fileDescriptor, interest: PortRegistration.readable, order: order,
        context: context,
        onlyHost: nil)
    }

    public override var description: String {
      let detail = context?.description.map { ", context \($0)" } ?? ""
      return "<port source order \(order), descriptor \(fileDescriptor), \(isValid ? "valid" : "invalid")\(detail)>"
    }
  }
}
