extension RunLoop {
  /// Rule 58: only the main loop, only in common modes, not inside one of the queue's own functions. Under the lock.
  @inline(__always)
  func servesMainQueue(in mode: ModePointer) -> Bool {
    isMain && !state.pointee.isInMainQueue && mode.pointee.isCommon && MainQueuePort.fileDescriptor != nil
  }

  /// The same without the lock; nothing is locked on another loop than the main one.
  @inline(__always)
  func mayServeMainQueue(in mode: ModePointer) -> Bool {
    isMain && lock.withLock { servesMainQueue(in: mode) }
  }

  func serveMainQueue() -> Bool {
    let began = countAndTime(.mainQueueTurns)
    lock.withLock { state.pointee.isInMainQueue = true }
    let hasServed = __RUNLOOPKIT_IS_SERVICING_THE_MAIN_DISPATCH_QUEUE__()
    lock.withLock { state.pointee.isInMainQueue = false }
    if began != 0 { calloutHasTaken(since: began, nil, .mainQueue) }
    return hasServed
  }
}
