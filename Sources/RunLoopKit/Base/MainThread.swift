internal import CRunLoopCore

/// The first thread of the process.
enum MainThread {
  /// One system call: asked once a thread.
  static var isCurrent: Bool { rlc_is_main_thread() }
}
