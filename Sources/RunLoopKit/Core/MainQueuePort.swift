internal import CRunLoopCore

/// The process's main dispatch queue, reached through weak C symbols: absent without libdispatch.
enum MainQueuePort {
  static var fileDescriptor: Int32? {
    let descriptor = rlc_main_queue_fd()
    return descriptor >= 0 ? descriptor : nil
  }

  /// True if the queue was signalled since the last take: one read of its handle, which makes edges in other sets stale.
  static func take() -> Bool { rlc_main_queue_take(Kernel.table) }

  /// Runs what was queued at entry: user code.
  static func drain() { rlc_main_queue_drain() }
}

enum MainThread {
  /// One system call: asked once a thread.
  static var isCurrent: Bool { rlc_is_main_thread() }
}
