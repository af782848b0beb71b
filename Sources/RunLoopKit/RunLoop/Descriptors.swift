// Descriptors are made when an item is added, so that arming cannot fail; a mode without ports gets its set by its first run.
// All under the lock.

extension RunLoop {
  func makePortSet(of mode: ModePointer) throws(RunLoopError) {
    if mode.pointee.portSet == nil {
      let wakeup = try wakeWord.make()
      let set = try PortSet(kernel)
      do throws(RunLoopError) {
        try set.insertHint(.wakeup, fileDescriptor: wakeup)
      } catch {
        set.destroy()
        throw error
      }
      mode.pointee.portSet = set
    }
    if mode.pointee.needsTimerHint { try insertHint(of: mode.pointee.timerPort!, in: mode) }
    try insertMainQueueHint(in: mode)
  }

  /// The mode's timerfd and heap, made with its first timer.
  @inline(__always)
  func makeTimerHeap(of mode: ModePointer) throws(RunLoopError) {
    if mode.pointee.timerHeap == nil || (!mode.pointee.hasTimerHint && mode.pointee.portSet != nil) {
      try makeFirstTimerHeap(of: mode)
    }
  }

  private func makeFirstTimerHeap(of mode: ModePointer) throws(RunLoopError) {
    if mode.pointee.timerHeap == nil { mode.pointee.timerHeap = try TimerHeap() }
    let kept = mode.pointee.timerPort
    let port: TimerPort
    if let kept { port = kept } else { port = try TimerPort(.suspending, kernel) }
    do throws(RunLoopError) {
      try insertHint(of: port, in: mode)
    } catch {
      if kept == nil { port.destroy() }
      throw error
    }
    mode.pointee.timerPort = port
  }

  private func insertHint(of port: TimerPort, in mode: ModePointer) throws(RunLoopError) {
    guard !mode.pointee.hasTimerHint, let set = mode.pointee.portSet else { return }
    try set.insertHint(.timer, fileDescriptor: port.fileDescriptor)
    mode.pointee.hasTimerHint = true
  }

  /// The timerfd and heap of another clock, made with the mode's first timer on it.
  func makeOtherClock(_ clock: TimerClock, of mode: ModePointer) throws(RunLoopError) {
    guard mode.pointee.otherClock(clock) == nil else { return }
    try makePortSet(of: mode)
    let other = try OtherClock.make(clock, kernel)
    // Made two lines above.
    try mode.pointee.portSet!.insertHint(other.hint, fileDescriptor: other.port.fileDescriptor)
    var clocks = mode.pointee.otherClocks ?? []
    clocks.insert(other, at: clock == .wall ? clocks.endIndex : clocks.startIndex)
    mode.pointee.otherClocks = clocks
  }

  func insertMainQueueHint(in mode: ModePointer) throws(RunLoopError) {
    guard isMain, mode.pointee.isCommon, !mode.pointee.hasMainQueueHint, let set = mode.pointee.portSet,
      let descriptor = MainQueuePort.fileDescriptor
    else { return }
    try set.insertHint(.mainQueue, fileDescriptor: descriptor)
    mode.pointee.hasMainQueueHint = true
  }
}
