extension RunLoop {
  /// Rule 58: only the main loop, only in common modes, not inside one of the queue's own functions.
  func servesMainQueue(in mode: ModePointer) -> Bool {
    isMain && !state.pointee.isInMainQueue && mode.pointee.isCommon && MainQueuePort.fileDescriptor != nil
  }

  func serveMainQueue() {
    state.pointee.isInMainQueue = true
    __RUNLOOPKIT_IS_SERVICING_THE_MAIN_DISPATCH_QUEUE__()
    state.pointee.isInMainQueue = false
  }
}
