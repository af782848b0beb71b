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
    count(.mainQueueTurns)
    lock.withLock { state.pointee.isInMainQueue = true }
    defer { lock.withLock { state.pointee.isInMainQueue = false } }
    return __RUNLOOPKIT_IS_SERVICING_THE_MAIN_DISPATCH_QUEUE__()
  }
}
