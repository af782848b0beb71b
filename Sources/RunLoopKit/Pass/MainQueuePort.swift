internal import CRunLoopCore
internal import RunLoopLibc

/// The process's main dispatch queue, reached through weak C symbols. A process without libdispatch has no such queue.
enum MainQueuePort {
  /// The queue's handle. Nil without libdispatch, and after libdispatch has closed it with the main thread.
  static func fileDescriptor() throws(RunLoopError) -> Int32? {
    let descriptor = rlc_main_queue_fd()
    if descriptor == noQueue { return nil }
    return try RunLoopError.checkCore(descriptor, "the main dispatch queue")
  }

  static var isThere: Bool { rlc_main_queue_fd() != noQueue }

  private static let noQueue = -ENOSYS

  /// True if the queue was signalled since the last take. Reads the queue's handle once, after which the edges in other
  /// sets are stale.
  static func take() -> Bool { rlc_main_queue_take(Kernel.current.table) }

  /// Calls the functions that were queued before this call. They are user code.
  static func drain() { rlc_main_queue_drain() }
}
