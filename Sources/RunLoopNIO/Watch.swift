#if NIO
  internal import CEventfd
  internal import CRunLoopCore
  internal import RunLoopKit
  internal import RunLoopLibc

  /// Rings a bell when the loop's descriptor becomes readable. SwiftNIO reads every descriptor that it waits for, and
  /// the loop's descriptor cannot be read. So the watchers' thread waits for it.
  final class Watch {
    let bell: Bell
    private let thread: RunLoop.Thread
    /// The descriptor for which the watch is armed.
    private(set) var descriptor: RunLoop.HostDescriptor?
    private var source: RunLoop.FileDescriptorSource?

    init() throws {
      thread = try WatchersThread.current()
      bell = try Bell()
    }

    deinit { source?.invalidate() }

    /// Makes the watch ring the bell when the descriptor is next readable, or now if it is readable; further edges may
    /// ring it again.
    func arm(_ descriptor: RunLoop.HostDescriptor) throws {
      if let source, descriptor == self.descriptor { return try source.setInterest(.readable) }
      // The source, if there is one, watches an epoll instance that the loop has replaced.
      source?.invalidate()
      // Edge-triggered: a one-shot source leaves the thread's epoll instance, and adding it again may fail for lack of
      // room.
      source = try RunLoop.FileDescriptorSource(
        fileDescriptor: descriptor.fileDescriptor, interest: .readable, trigger: .edge
      ) { [bell] _, _ in bell.ring() }
      self.descriptor = descriptor
      try thread.loop!.add(source!)  // the thread is started, so it has a loop
    }
  }

  /// An eventfd. When SwiftNIO reads it, the host serves the loop.
  final class Bell: Sendable {
    private let descriptor: Int32

    init() throws(RunLoopError) {
      descriptor = rlc_descriptor_adopt(eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK)))
      if descriptor < 0 { throw .system(-descriptor, call: "eventfd") }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// - Thread: Any.
    func ring() { eventfd_write(descriptor, 1) }

    /// Duplicates the descriptor for SwiftNIO, which may close its duplicate before the bell rings for the last time.
    func duplicate() throws(RunLoopError) -> Int32 {
      let duplicate = rlc_descriptor_adopt(fcntl(descriptor, F_DUPFD_CLOEXEC, 3))
      guard duplicate >= 0 else { throw .system(-duplicate, call: "fcntl") }
      return duplicate
    }
  }
#endif
