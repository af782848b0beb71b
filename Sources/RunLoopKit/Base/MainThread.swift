internal import CRunLoopCore

/// The first thread of the process.
enum MainThread {
  /// One system call; a thread asks once.
  static var isCurrent: Bool { rlc_is_main_thread() }
}
