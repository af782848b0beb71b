internal import CRunLoopCore

/// The first thread of the process.
enum MainThread {
  /// Makes two system calls.
  static var isCurrent: Bool { rlc_is_main_thread() }
}
