/// The main thread's loop. Any thread may be the first to ask for it.
enum MainLoop {
  /// Lock-free, because a child of fork(2) reads it too.
  private static let made = ProcessWide<RunLoop>()

  /// The main loop of this process; nil if no thread has asked for it.
  static var existing: RunLoop? { made.existing }

  static var shared: RunLoop {
    if let loop = made.existing { return loop }
    let loop = made.current { RunLoop(isMain: true, Kernel.mainThreadsOwn) }
    // If this is the main thread, its record gets the loop too, and ends the loop with the thread.
    if MainThread.isCurrent { _ = ThreadRecord.current.currentLoop }
    return loop
  }

  /// Reports the members and blocks that the main loop will never call.
  static func warnOfEnd(members: Int, blocks: Int) {
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
}

/// The C core calls this at the end of the main thread, before all other destructors. It ends the main loop, even if
/// only other threads have asked for the loop. If no thread has, it makes the loop and ends it, so that a later caller
/// gets an ended loop.
@_cdecl("rlk_kit_main_thread_ends")
func mainThreadEnds() {
  StackPlace.framesAreLeft()
  if let record = ThreadRecord.existing {
    _ = record.currentLoop  // the destructor of the thread-specific data ends it
  } else {
    _ = ThreadRecord.current.currentLoop
    ThreadRecord.endCurrent()
  }
}
