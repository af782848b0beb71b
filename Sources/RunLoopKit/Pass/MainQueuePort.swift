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

enum MainThread {
  /// What waits in its loop is never called: not in silence.
  static func tellOfEnd(members: Int, blocks: Int) {
    guard members + blocks > 0 else { return }
    func text(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
    Diagnosis.warn(
      """
      the main thread has ended with \(text(members, "member")) and \(text(blocks, "block")) in its run loop, \
      which nothing will ever call. An async main ends the main thread when it first suspends: make main synchronous and \
      call RunLoop.main.run { await ... } there. dispatchMain() ends it at once: call RunLoop.main.run(), which serves the \
      main queue too. Or use the loop of a RunLoop.Thread.
      """)
  }

  /// One system call: asked once a thread.
  static var isCurrent: Bool { rlc_is_main_thread() }
}
