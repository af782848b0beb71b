internal import Synchronization

extension RunLoop.Port.SendRight {
  /// Sends, and runs the calling thread's loop in `mode` until the answer has come.
  ///
  /// The message's `reply` becomes a right to answer this request, once. In a mode of one's own nothing else is served
  /// meanwhile; in another one its items are called, and may make requests of their own. A `stop()` does not end the wait: it is
  /// passed on to the run that encloses the request when that is over.
  /// - Parameters:
  ///   - message: What is asked; its `reply` is replaced.
  ///   - deadline: For the sending and the answer together; nil: as long as it takes.
  ///   - mode: Not `.common`, in which nothing runs.
  /// - Returns: The answer.
  /// - Throws: `.noReply` if the right to answer is dropped, for one since the port dies with the message in its queue;
  ///   `.portInvalid`; `.timedOut`: an answer that comes later is an error for who answers; `.loopEnded` also if the thread is
  ///   told to end now (`RunLoop.Thread`); `.commonModeNotRunnable`; else as `send(_:before:)`.
  /// - Thread: Any; its own loop runs. - Re-entry: Allowed. - Blocks: As a run does.
  @available(*, noasync, message: "it runs the thread's loop: call it from a synchronous main or a thread of your own")
  public func request(
    _ message: RunLoop.Message, before deadline: RunLoop.Instant? = nil, in mode: RunLoop.Mode = .default
  ) throws(RunLoopError) -> RunLoop.Message {
    guard mode != .common else { throw .commonModeNotRunnable(call: "request(_:in:before:)") }
    let loop = RunLoop.current
    let bell = RunLoop.Port(queueLimit: 1, onlyHost: loop, unchecked: { _, _ in loop.replyBellRang() })
    let pending = PendingReply(bell: bell.mailbox)
    try loop.add(bell, to: mode)
    defer {
      pending.settle(.failure(.timedOut))  // too late from now on
      bell.invalidate()
    }
    try ask(message, pending, before: deadline)
    return try loop.await(pending, in: mode, until: deadline ?? .distantFuture)
  }

  /// A function of its own: when it returns, only the receiver has the right to answer.
  @inline(never)
  private func ask(
    _ message: RunLoop.Message, _ pending: PendingReply, before deadline: RunLoop.Instant?
  ) throws(RunLoopError) {
    var message = message
    message.reply = RunLoop.Port.SendRight(ReplyRight(pending))
    try send(message, before: deadline)
  }
}

extension RunLoop {
  fileprivate func await(
    _ pending: PendingReply, in mode: Mode, until deadline: Instant
  ) throws(RunLoopError) -> Message {
    var isStopped = false
    defer { if isStopped { stop() } }
    while true {
      if let answer = pending.take() { return try answer.get() }
      guard isInThisProcess else { throw .forked }
      // Given up by settling it: an answer that was quicker counts, since who gave it has been told so.
      guard !stops.isQuitting else {
        pending.settle(.failure(.loopEnded))
        continue
      }
      let request = AwaitedReply(pending)
      let result = try run(in: mode, limit: RunLimit(until: deadline), false, awaiting: request)
      if request.wasStopped { isStopped = true }
      if result == .timedOut { pending.settle(.failure(.timedOut)) }
    }
  }

  /// The bell was served, perhaps by a run above the one that waits: that one's coming wait must not block. [loop]
  fileprivate func replyBellRang() {
    var activation = owner.activation?.parent
    while let enclosing = activation {
      if enclosing.hasAnswer { wakes.oweLook(to: enclosing) }
      activation = enclosing.parent
    }
  }
}
