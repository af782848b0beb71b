internal import CRunLoopCore
internal import RunLoopLibc

/// The process's main dispatch queue, reached through weak C symbols: absent without libdispatch.
enum MainQueuePort {
  /// Nil without libdispatch, and when libdispatch has ended the queue's handle with the main thread.
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

  /// Runs what was queued at entry: user code.
  static func drain() { rlc_main_queue_drain() }
}
