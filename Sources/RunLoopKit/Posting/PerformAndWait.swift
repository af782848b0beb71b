internal import RunLoopLibc

extension RunLoop {
  /// Runs `block` on the loop's thread, in the next pass of the mode, and waits for it.
  ///
  /// On the loop's own thread the block runs at once, whatever the mode [RLK-WAIT-1]. Otherwise it runs among the
  /// loop's blocks and counts as a source, like a block of `performAsSource`. The calling thread
  /// sleeps meanwhile, and its own loop serves nothing [RLK-WAIT-2, RLK-PERFORM-1]. If two threads wait for each
  /// other's loops in this way, both wait for ever, unless one has given a timeout [RLK-WAIT-7].
  ///
  /// ```swift
  /// let worker = RunLoop.Thread(name: "worker")
  /// try worker.start()
  /// let isMain = try worker.loop?.performAndWait { RunLoop.main.isCurrent }
  /// print(isMain ?? true)  // prints false
  /// ```
  /// - Parameters:
  ///   - modes: The block runs once, in the first of them that runs. Without any, it runs in the default mode. A loop
  ///     that runs in none of them never runs the block.
  ///   - timeout: How long the call waits for the block to begin. With zero or less, it must begin at once. Nil means
  ///     no limit.
  ///   - label: The block's name in reports of slow callouts.
  ///   - file: Named by these reports if there is no label, as `line`; leave both out.
  ///   - line: The line of the call.
  ///   - block: May use the caller's variables, since the caller waits [RLK-WAIT-3]. It must return: a thread that ends
  ///     inside it ends the process with a message, since the caller would wait for ever [RLK-END-4].
  /// - Returns: What the block returned.
  /// - Throws: What the block has thrown; only the caller receives that error, and the loop's run goes on
  ///   [RLK-WAIT-11]. Otherwise a `RunLoopError`: `.loopEnded` if the loop has ended, or ends before the block runs
  ///   [RLK-WAIT-4]. `.timedOut` if the block did not begin in time, and will not run; once it has begun, the call
  ///   waits for its end [RLK-WAIT-5, RLK-WAIT-6, RLK-WAIT-8, RLK-WAIT-9]. `.forked`.
  /// - Thread: Any.
  /// - Re-entry: Allowed.
  /// - Blocks: Until the block has run.
  /// - Complexity: O(1) and, if it has to wait, one futex(2) call on each side besides the wake; withdrawing is
  ///   O(blocks that wait).
  /// - SeeAlso: `performSelector:onThread:withObject:waitUntilDone:modes:`; without `modes:` that uses the common
  ///   modes, as `in: .common` does.
  @available(*, noasync, message: "it blocks: in a task, or a main with a top-level await, await the async form")
  public func performAndWait<R, E: Error>(
    in modes: Mode..., timeout: Duration? = nil, label: String? = nil, file: StaticString = #fileID,
    line: UInt = #line, block: () throws(E) -> R
  ) throws -> R {
    let name = BlockName(label, at: CallPlace(file, line))
    return try performAndWait(in: NamedModes(modes), timeout: timeout, name, block: block)
  }

  /// As `performAndWait(in:timeout:label:file:line:block:)`, in the modes of a list. An empty list stands for the
  /// default mode [RLK-PERFORM-6].
  @available(*, noasync, message: "it blocks: in a task, or a main with a top-level await, await the async form")
  public func performAndWait<R, E: Error>(
    in modes: [Mode], timeout: Duration? = nil, label: String? = nil, file: StaticString = #fileID,
    line: UInt = #line, block: () throws(E) -> R
  ) throws -> R {
    let name = BlockName(label, at: CallPlace(file, line))
    return try performAndWait(in: NamedModes(modes), timeout: timeout, name, block: block)
  }

  /// As `performAndWait(in:timeout:label:file:line:block:)`, in named modes.
  func performAndWait<R, E: Error>(
    in modes: NamedModes, timeout: Duration? = nil, _ name: BlockName = BlockName(nil), block: () throws(E) -> R
  ) throws -> R {
    try checkUsable()
    if isCurrent { return try block() }
    let deadline = Deadline(timeout)
    let answer = try withoutActuallyEscaping(block) { block in
      var result: Result<R, E>?
      let call = AwaitedCall { result = Result { () throws(E) in try block() } }
      // Whichever way the call ends, nothing retains the closure after the return.
      defer { call.forgetBlock() }
      try queue(call, modes, name)
      try finish(call, deadline)
      // `finish` throws unless the block has run to its end. The ticket makes visible what the block wrote.
      return result.unsafelyUnwrapped
    }
    return try answer.get()
  }

  /// As `performAndWait(in:timeout:label:file:line:block:)`, for a function that an exception or longjmp(3) may leave.
  /// Therefore the closure uses none of the caller's variables. Throws `ECANCELED` if the function was left
  /// [RLK-LEFT-8].
  package func performAndWait(
    in mode: Mode, timeout: Duration?, leaving block: @escaping () -> Void
  ) throws(RunLoopError) {
    try checkUsable()
    if isCurrent { return block() }
    let deadline = Deadline(timeout)
    let call = AwaitedCall(block)
    defer { call.forgetBlock() }
    try queue(call, NamedModes([mode]), BlockName(nil))
    try finish(call, deadline)
  }

  /// Queues the call with a ticket, by which it can be withdrawn, and wakes the loop.
  func queue(_ call: AwaitedCall, _ modes: NamedModes, _ name: BlockName) throws(RunLoopError) {
    lock.lock()
    guard !hasEnded else {
      lock.unlock()
      throw endedError
    }
    let turn = AwaitedTurn(call)
    let mode = state.makeMode(modes.first)
    let others = QueuedBlock.OtherModes(
      modes.several.map { state.makeMode($0) }, besides: mode, ticket: call.ticket)
    let body = { [self] in
      turn.run(on: self)
      hasPerformed(name)
    }
    state.blocks.append(QueuedBlock(mode: mode, others: others, body: body))
    queuedBlocks.store(1, ordering: .releasing)
    lock.unlock()
    wakes.word.signal()
  }

  private func finish(_ call: AwaitedCall, _ deadline: Deadline) throws(RunLoopError) {
    var outcome = call.ticket.wait(deadline)
    if case .late = outcome {
      if call.ticket.withdraw() {
        removeBlock(call.ticket)
        throw .timedOut
      }
      outcome = call.ticket.wait(.never)  // it has begun just now, or the loop has ended
    }
    switch outcome {
    case .lost: throw endedError
    case .left: throw .blockLeft
    case .done, .late: return
    }
  }

  /// Removes a withdrawn block from the queue. If a drain has the block, that drain drops it.
  func removeBlock(_ ticket: BlockTicket) {
    let removed = lock.withLock { () -> QueuedBlock? in
      let removed = state.blocks.remove(ticket)
      if removed == nil { state.drainsHaveWithdrawnBlocks = true }
      queuedBlocks.store(state.blocks.isEmpty ? 0 : 1, ordering: .releasing)
      return removed
    }
    withExtendedLifetime(removed) {}
  }
}

extension RunLoopError {
  /// An exception, another unwinding or longjmp(3) has left the block that the caller waits for.
  static var blockLeft: RunLoopError {
    .system(ECANCELED, call: "performAndWait", "the block was left by an exception, or by longjmp")
  }
}
