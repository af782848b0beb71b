internal import Synchronization

extension RunLoop.Port.SendRight {
  /// Sends a message, and runs the calling thread's loop in `mode` until the answer has arrived [RLK-MSG-22].
  ///
  /// The message's `reply` becomes a right to answer this request once [RLK-MSG-25]. In a mode that only requests use,
  /// the loop calls nothing else meanwhile. In another mode it calls that mode's items, which may make requests as well
  /// [RLK-MSG-26]. A `stop()` does not end the wait. When the request is over, the call passes the stop on to the run
  /// that encloses it [RLK-MSG-27].
  ///
  /// ```swift
  /// let clerk = RunLoop.Port(replying: { _, question in RunLoop.Message(id: question.id + 1) })
  /// let worker = RunLoop.Thread(name: "clerk") { loop in try loop.add(clerk) }
  /// try worker.start()
  /// let answer = try clerk.sendRight.request(RunLoop.Message(id: 7), timeout: .seconds(5), in: "asking")
  /// print(answer.id)  // prints 8
  /// ```
  /// - Parameters:
  ///   - message: The question; the call replaces its `reply`.
  ///   - timeout: How long sending and answering may take together [RLK-MSG-23, RLK-MSG-44]; with zero or less, both
  ///     must be possible at once. Nil means no limit.
  ///   - mode: Not `.common`, in which no loop runs.
  /// - Returns: The answer.
  /// - Throws: A `RunLoopError`: `.noReply` if the right to answer is released unused, for example because the port is
  ///   gone with the message in its queue [RLK-MSG-24]. `.timedOut`; an answer that comes later throws at its sender.
  ///   `.loopEnded`, also if `RunLoop.Thread.stop(.now)` stops the thread [RLK-MSG-30]. `.portInvalid`;
  ///   `.commonModeNotRunnable`; else as `send(_:timeout:)`.
  /// - Thread: Any; the call runs the loop of that thread. - Re-entry: Allowed. - Blocks: While it runs the loop.
  @available(*, noasync, message: "in a task, or a main with a top-level await, await the async form without a mode")
  public func request(
    _ message: RunLoop.Message, timeout: Duration? = nil, in mode: RunLoop.Mode = .default
  ) throws -> RunLoop.Message {
    guard mode != .common else { throw RunLoopError.commonModeNotRunnable(call: "request(_:timeout:in:)") }
    let deadline = timeout.map { RunLoop.Instant.now.advanced(by: $0) }
    let loop = RunLoop.current
    let bell = RunLoop.Port(queueLimit: 1, onlyLoop: loop, unchecked: { _, _ in loop.awaitedBellRang() })
    bell.isHidden = true
    let pending = PendingReply(bell: bell.mailbox)
    try loop.add(bell, to: mode)
    defer {
      pending.settle(.failure(RunLoopError.timedOut))  // later answers throw at their senders
      bell.invalidate()
    }
    try ask(message, pending, before: deadline)
    return try loop.await(pending, bell, in: mode, until: deadline ?? .distantFuture)
  }

  /// Not inlined, so that after its return only the receiver has a reference to the right to answer.
  @inline(never)
  private func ask(
    _ message: RunLoop.Message, _ pending: PendingReply, before deadline: RunLoop.Instant?
  ) throws(RunLoopError) {
    var message = message
    message.reply = RunLoop.Port.SendRight(ReplyRight(pending))
    try destination.send(message, deadline.map { .until(Deadline($0)) } ?? .forever)
  }
}

extension RunLoop {
  fileprivate func await(
    _ pending: PendingReply, _ bell: Port, in mode: Mode, until deadline: Instant
  ) throws -> Message {
    var isStopped = false
    defer { if isStopped { requestStop() } }
    while true {
      if let answer = pending.takeAnswer() { return try answer.get() }
      guard isInThisProcess else { throw RunLoopError.forked }
      // If an answer has come meanwhile, `settle` does nothing, and the next iteration returns the answer.
      guard !stops.isQuitting else {
        pending.settle(.failure(RunLoopError.loopEnded))
        continue
      }
      let request = AwaitedReply(pending, bell)
      let result = try run(in: mode, limit: RunLimit(until: deadline), false, awaiting: request)
      if request.wasStopped { isStopped = true }
      if result == .timedOut { pending.settle(.failure(RunLoopError.timedOut)) }
    }
  }

  /// Called when the bell's message was served. A nested run may have served it, so each enclosing run whose answer has
  /// come must poll before it sleeps. - Thread: The loop's own.
  func awaitedBellRang() {
    var activation = innermostRun.parent
    while let enclosing = activation {
      if enclosing.hasAnswer { wakes.demandPoll(of: enclosing) }
      activation = enclosing.parent
    }
  }
}

/// What a request's run waits for. Used by the loop's thread only.
private final class AwaitedReply: AwaitedEnd {
  private let pending: PendingReply
  private let bell: RunLoop.Port
  /// True if a stop has ended the run. The request passes the stop on to the enclosing run.
  private(set) var wasStopped = false

  init(_ pending: PendingReply, _ bell: RunLoop.Port) {
    self.pending = pending
    self.bell = bell
  }

  override var isOver: Bool { pending.isOver }

  override func isStopped() -> Bool {
    wasStopped = true
    return true
  }

  override func isLeft() {
    pending.settle(.failure(RunLoopError.timedOut))
    bell.invalidate()
  }
}

extension Deadline {
  /// Converts a moment of a loop's clock: the deadline is as far from now as the moment is.
  init(_ moment: RunLoop.Instant) {
    self.init(moment == .distantFuture ? nil : RunLoop.Instant.now.duration(to: moment))
  }
}
