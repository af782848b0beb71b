internal import CRunLoopCore
internal import RunLoopLibc

/// What epoll watches in place of a descriptor that it refuses: a counter that is never empty, so that it is always
/// ready for reading and for writing, and takes its turns among the ready ports like any other.
enum StandIn {
  /// Nil if epoll takes the descriptor itself.
  static func make(for descriptor: Int32) throws(RunLoopError) -> OwnedDescriptor? {
    guard try isRefused(descriptor) else { return nil }
    let kernel = Kernel.current.table
    let counter = try RunLoopError.check(kernel.pointee.eventfd_create(kernel.pointee.context), "eventfd")
    var one: UInt64 = 1
    _ = write(counter, &one, 8)  // of a new counter: there is room
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
