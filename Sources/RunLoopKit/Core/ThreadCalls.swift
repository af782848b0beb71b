internal import CRunLoopCore

/// What is asked of the system about threads.
enum ThreadCalls {
  private static let longestName = 15

  /// Names the calling thread. What is longer than the system's 15 bytes is cut at a character.
  static func setName(_ name: String) {
    var cut = name
    while cut.utf8.count > longestName { cut.removeLast() }
    _ = rlc_thread_set_name(cut)
  }

  /// A full barrier in all threads of the process.
  static func barrier() { rlc_thread_barrier() }
}
