extension RunLoop {
  /// Makes the passes of one run. The letters are those of rule 7; (n) decides by rule 8. Returns nil if a wait has
  /// failed, or if a callout has forked and this is the child.
  @inline(__always)
  func runPasses(
    _ activation: Activation, at: UInt, in mode: ModePointer, _ limit: RunLimit, _ returnAfterSourceHandled: Bool
  ) -> RunResult? {
    activation.servesMainQueue = mayServeMainQueue(in: mode)
    let deadline = limit.deadline()
    let isPoll = limit.isPoll
    var hasJustServedMainQueue = leavesMainQueue(activation)  // if true, the first pass skips (g)

    while true {
      if let counters { passBegins(counters) }
      if wakes.accept(for: activation, stops) { keepFromWaiting(activation, in: mode) }  // (a)
      mode.notify(.beforeTimers, insideOf: at, on: self)  // (b)
      mode.notify(.beforeSources, insideOf: at, on: self)  // (c)
      var hasHandled = mode.performBlocks(on: self)  // (d)
      if !hasHandled || !returnAfterSourceHandled,  // (e)
        mode.performSources(onlyOne: returnAfterSourceHandled, on: self)
      {
        hasHandled = true
      }
      if hasHandled { mode.performBlocks(on: self) }
      let isPolling = hasHandled || isPoll  // (f)

      let event: PassEvent
      if !hasJustServedMainQueue, activation.servesMainQueue, takesMainQueue(mode) {  // (g)
        wakes.keep(for: activation)
        event = .mainQueue
      } else {
        if !isPolling {
          mode.notify(.beforeWaiting, insideOf: at, on: self)  // (h)
          drainScope(of: activation, at: at)
        }
        event = mode.awaitEvent(of: activation, isPolling: isPolling, deadline: deadline, on: self)  // (i), (j)
        if !isPolling { mode.notify(.afterWaiting, insideOf: at, on: self) }  // (k)
      }

      if serve(event, in: mode) { hasHandled = true }  // (l)
      if case .mainQueue = event { hasJustServedMainQueue = true } else { hasJustServedMainQueue = false }
      if mode.performBlocks(on: self) { hasHandled = true }  // (m)
      if isPolling { drainScope(of: activation, at: at) }
      if case .failed = event { return nil }

      if !isInThisProcess { return nil }  // a callout has forked, and this is the child
      if hasHandled && returnAfterSourceHandled { return .handledSource }  // (n)
      if isPoll || (deadline != Time.forever && deadline <= Kernel.now()) { return .timedOut }
      if activation.checkForAnswer() { return .stopped }
      if takeStop(of: activation) { return .stopped }
      if isFinished(mode) { return .finished }
    }
  }

  /// Called when a post was dropped. The post may have come after the last decision (n), to report a change that would
  /// have ended the run there. If there may be such a change, the next wait does not block. CFRunLoop waits in this
  /// case.
  @inline(never)
  func keepFromWaiting(_ activation: Activation, in mode: ModePointer) {
    if activation.awaitsCondition || isFinished(mode) { wakes.demandPoll(of: activation) }
  }

  /// (g): true if the pass serves the queue without a wait.
  @inline(never)
  private func takesMainQueue(_ mode: ModePointer) -> Bool {
    let isTrusted = mode.watchesMainQueue && !mode.observers.wantWaits && kernel?.turns == nil
    return owner.mainQueue.takeTurn(isTrusted: isTrusted)
  }

  /// (l): serves the event. True if a source was called or the main queue served.
  private func serve(_ event: PassEvent, in mode: ModePointer) -> Bool {
    switch event {
    case .none, .failed:
      return false
    case .timer:
      mode.fireTimers(on: self)
      return false
    case .mainQueue:
      return serveMainQueue()
    case .port(let item, let ready):
      return mode.serveTimed(item.takeRetainedValue(), ready: ready, on: self)
    }
  }
}
