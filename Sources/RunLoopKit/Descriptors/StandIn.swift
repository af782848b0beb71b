internal import CRunLoopCore
internal import RunLoopLibc

/// A counter that epoll watches in place of a descriptor that it refuses. The counter is never empty, so it is always
/// ready for reading and writing, and takes its turn among the ready ports like any other.
enum StandIn {
  /// Returns nil if epoll accepts the descriptor itself.
  static func make(for descriptor: Int32) throws(RunLoopError) -> OwnedDescriptor? {
    guard try isRefused(descriptor) else { return nil }
    let kernel = Kernel.current.table
    let counter = try RunLoopError.check(kernel.pointee.eventfd_create(kernel.pointee.context), "eventfd")
    var one: UInt64 = 1
    _ = write(counter, &one, 8)  // cannot fail: a new counter has room
    return OwnedDescriptor(counter)
  }

  private static func isRefused(_ descriptor: Int32) throws(RunLoopError) -> Bool {
    var info = stat()
    try RunLoopError.checkErrno(fstat(descriptor, &info), "fstat", DescriptorWords.state(descriptor, errno))
    if info.st_mode & S_IFMT == S_IFDIR {
      let detail = "\(DescriptorWords.kind(of: descriptor)), which cannot be read; see FileWatch"
      throw .system(EISDIR, detail)
    }
    let set = try PortSet(.current)
    defer { set.destroy() }
    return try set.refuses(descriptor)
  }
}
