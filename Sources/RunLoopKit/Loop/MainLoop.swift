/// The loop of the main thread, which any thread may be the first to ask for.
enum MainLoop {
  /// Lock-free, since a child of fork(2) reads it too.
  private static let made = ProcessWide<RunLoop>()

  /// In this process; nil if no call has asked for it.
  static var existing: RunLoop? { made.existing }

  static var shared: RunLoop {
    if let loop = made.existing { return loop }
    let loop = made.current { RunLoop(isMain: true, Kernel.mainThreadsOwn) }
    // Asked for on its own thread: that thread's end is to be noticed.
    if MainThread.isCurrent { _ = ThreadRecord.current.currentLoop }
    return loop
  }

  /// What waits in its loop is never called: not in silence.
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

/// Of the core, at the end of the main thread, before all other destructors. The main loop ends with its thread also if
/// only others have asked for it, or nobody has yet: whoever asks later finds it ended.
@_cdecl("rlk_kit_main_thread_ends")
func mainThreadEnds() {
  StackPlace.framesAreLeft()
  if let record = ThreadRecord.existing {
    _ = record.currentLoop  // ends in its turn
  } else {
    _ = ThreadRecord.current.currentLoop
    ThreadRecord.endCurrent()
  }
}
