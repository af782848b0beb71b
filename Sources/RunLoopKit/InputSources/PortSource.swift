internal import Glibc

extension RunLoop {
  /// What port sources and file descriptor sources share: a descriptor that belongs to the caller.
  public class DescriptorItem: Item, @unchecked Sendable {
    /// The descriptor, which stays the caller's and must stay open while the item is a member of a mode.
    public final let fileDescriptor: Int32
    private let isCounter: Bool

    init(fileDescriptor: Int32, isCounter: Bool, order: Int, onlyHost: RunLoop?) throws(RunLoopError) {
      guard fcntl(fileDescriptor, F_GETFD) >= 0 else { throw .systemCall(name: "fcntl", errno: errno) }
      self.fileDescriptor = fileDescriptor
      self.isCounter = isCounter
      super.init(order: order, onlyHost: onlyHost)
    }

    /// `RLC_` bits.
    var wantedReadiness: UInt32 { PortRegistration.readable }

    final var registration: PortRegistration {
      PortRegistration(fileDescriptor: fileDescriptor, isCounter: isCounter, interest: wantedReadiness)
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
    let context: HeldContext?

    /// - Parameter perform: Called on the thread of the loop that runs, with no lock held.
    /// - Throws: `.systemCall` with `EBADF` if the descriptor is not open.
    public init(
      fileDescriptor: Int32, order: Int = 0, context: Context? = nil,
      perform: @escaping @Sendable (PortSource) -> Void
    ) throws(RunLoopError) {
      body = perform
      self.context = context.map { HeldContext($0) }
      try super.init(fileDescriptor: fileDescriptor, isCounter: true, order: order, onlyHost: nil)
    }

    deinit { context?.release() }

    public override var description: String {
      let detail = context?.description.map { ", context \($0)" } ?? ""
      return "<port source order \(order), descriptor \(fileDescriptor), \(isValid ? "valid" : "invalid")\(detail)>"
    }
  }
}
