extension RunLoop {
  /// The passes of one run. The letters are those of rule 7; rule 8 is the decision. Nil: a wait has failed.
  @inline(__always)
  func runPasses(
    _ activation: UnsafeMutablePointer<Activation>, _ limit: RunLimit, _ returnAfterSourceHandled: Bool
  ) -> RunResult? {
    let mode = activation.pointee.mode
    activation.pointee.servesMainQueue = mayServeMainQueue(in: mode)
    let deadline = limit.deadline()
    let isPoll = limit.isPoll
    var hasJustServedMainQueue = true  // it gets its turn by (g) from the second pass on

    while true {
      if let counters { counters.pointee.passBegins() }
      acceptWakes(activation)  // (a)
      mode.notify(.beforeTimers, on: self)  // (b)
      mode.notify(.beforeSources, on: self)  // (c)
      var hasHandled = performBlocks(in: mode)  // (d)
      if !hasHandled || !returnAfterSourceHandled,  // (e)
        mode.performSources(onlyOne: returnAfterSourceHandled, on: self)
      {
        hasHandled = true
      }
      if hasHandled { performBlocks(in: mode) }
      let isPolling = hasHandled || isPoll  // (f)

      var event = PassEvent.none
      if !hasJustServedMainQueue, activation.pointee.servesMainQueue, MainQueuePort.take() {  // (g)
        keepWakes(activation)
        event = .mainQueue
      } else {
        if !isPolling {
          mode.notify(.beforeWaiting, on: self)  // (h)
          drainScope(of: activation)
        }
        event = awaitEvent(activation, isPolling: isPolling, deadline: deadline)  // (i), (j)
        if !isPolling { mode.notify(.afterWaiting, on: self) }  // (k)
      }

      if serve(event, activation) { hasHandled = true }  // (l)
      if case .mainQueue = event { hasJustServedMainQueue = true } else { hasJustServedMainQueue = false }
      if performBlocks(in: mode) { hasHandled = true }  // (m)
      if isPolling { drainScope(of: activation) }
      if case .failed = event { return nil }

      if !isInThisProcess { return .stopped }  // a callout has forked, and this is the child
      if hasHandled && returnAfterSourceHandled { return .handledSource }  // (n)
      if isPoll || (deadline != Time.forever && deadline <= Kernel.now()) { return .timedOut }
      if let awaited = activation.pointee.awaited, awaited.takeUnretainedValue().isOver { return .stopped }
      if takeStop(of: activation) { return .stopped }
      if isFinished(mode) { return .finished }
    }
  }

  /// (a): from here to the wait a wake is remembered; what was posted before is dropped, since a pass follows.
  @inline(__always)
  private func acceptWakes(_ activation: UnsafeMutablePointer<Activation>) {
    guard !activation.pointee.isAccepting else { return }
    dropWakes(of: activation)
    activation.pointee.isAccepting = true
    // A stop since the decision at (n): its kick may be among what was dropped. One from now on is remembered.
    if stops.isRequested { activation.pointee.isOwedLook = true }
  }

  /// A pass that goes to the main queue directly has no wait that could take a wake: it is the next one's, also of a run that
  /// is nested in the queue's function (rule 17).
  private func keepWakes(_ activation: UnsafeMutablePointer<Activation>) {
    activation.pointee.heldWake = max(activation.pointee.heldWake, wakeWord.take())
    activation.pointee.isAccepting = false
  }

  /// (l): true if a source was called or the main queue served.
  private func serve(_ event: PassEvent, _ activation: UnsafeMutablePointer<Activation>) -> Bool {
    switch event {
    case .none, .failed:
      return false
    case .timer:
      fireTimers(in: activation.pointee.mode)
      return false
    case .mainQueue:
      return serveMainQueue()
    case .port(let item, let ready):
      return serve(item, ready: ready, in: activation.pointee.mode)
    }
  }
}
