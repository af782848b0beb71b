internal import CRunLoopCore
internal import RunLoopLibc

/// The process's main dispatch queue, reached through weak C symbols: absent without libdispatch.
enum MainQueuePort {
  /// The queue's handle. Nil without libdispatch, and after libdispatch has closed it with the main thread.
  static func fileDescriptor() throws(RunLoopError) -> Int32? {
    let descriptor = rlc_main_queue_fd()
    if descriptor == noQueue { return nil }
    return try RunLoopError.checkCore(descriptor, "the main dispatch queue")
  }

  static var isThere: Bool { rlc_main_queue_fd() != noQueue }

  private static let noQueue = -ENOSYS

  /// True if the queue was signalled since the last take: one read of its handle, which makes edges in other sets
  /// stale.
  static func take() -> Bool { rlc_main_queue_take(Kernel.current.table) }

  /// Runs the functions that were queued before the call: user code.
  static func drain() { rlc_main_queue_drain() }
}
