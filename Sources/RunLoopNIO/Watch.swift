#if NIO
  internal import CEventfd
  internal import CRunLoopCore
  internal import RunLoopKit
  internal import RunLoopLibc

  /// Rings a bell when the loop's descriptor becomes readable. SwiftNIO reads what it waits for, and from that
  /// descriptor nothing can be read: the watchers' thread waits for it.
  final class Watch {
    let bell: Bell
    private let thread: RunLoop.Thread
    /// What it is armed for.
    private(set) var descriptor: RunLoop.HostDescriptor?
    private var source: RunLoop.FileDescriptorSource?

    init() throws {
      thread = try WatchersThread.current()
      bell = try Bell()
    }

    deinit { source?.invalidate() }

    /// The bell is rung when the descriptor is readable next, or now if it is, and maybe again at further edges.
    func arm(_ descriptor: RunLoop.HostDescriptor) throws {
      if let source, descriptor == self.descriptor { return try source.setInterest(.readable) }
      // The number stands for another epoll instance.
      source?.invalidate()
      // For edges: a one-shot source leaves the thread's epoll instance, and may find no room there when it comes back.
      source = try RunLoop.FileDescriptorSource(
        fileDescriptor: descriptor.fileDescriptor, interest: .readable, trigger: .edge
      ) { [bell] _, _ in bell.ring() }
      self.descriptor = descriptor
      try thread.loop!.add(source!)  // it has been started
    }
  }

  /// An eventfd.
  final class Bell: Sendable {
    private let descriptor: Int32

    init() throws(RunLoopError) {
      descriptor = rlc_descriptor_adopt(eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)))
      if descriptor < 0 { throw .system(-descriptor, call: "eventfd") }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// - Thread: Any.
    func ring() { eventfd_write(descriptor, 1) }

    /// For SwiftNIO, which closes it, maybe before the last ring.
    func duplicate() throws(RunLoopError) -> Int32 {
      let duplicate = rlc_descriptor_adopt(fcntl(descriptor, F_DUPFD_CLOEXEC, 3))
      guard duplicate >= 0 else { throw .system(-duplicate, call: "fcntl") }
      return duplicate
    }
  }
#endif
