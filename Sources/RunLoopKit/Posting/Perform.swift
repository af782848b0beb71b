internal import Synchronization

extension RunLoop {
  /// Runs `block` once on the loop's thread, in the next pass of the mode, and wakes the loop.
  ///
  /// A block does not count as a source: a run with `returnAfterSourceHandled` continues after it, as after
  /// `CFRunLoopPerformBlock` and a wake [RLK-PERFORM-4]. To end such a run use `performAsSource`,
  /// `performAndWait` or `RunLoop.Thread.perform`.
  ///
  /// Blocks run in the order in which they were queued; if a block queues another one, that waits until the loop next
  /// drains the queue [RLK-FAIR-51, RLK-FAIR-53, RLK-RUN-8]. The loop releases a block right after it ran or, if it
  /// never ran, when the loop ends; no lock is held then [RLK-END-1, RLK-END-6]. The call creates the mode if it does
  /// not exist.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let worker = RunLoop.Thread(name: "worker")
  /// try worker.start()
  /// try worker.perform {  // on the worker's thread
  ///   try? loop.perform {  // on this one
  ///     print("the worker is done")  // prints the worker is done
  ///     loop.stop()
  ///   }
  /// }
  /// try loop.run()
  /// ```
  /// - Parameters:
  ///   - mode: Nil stands for the default mode if there are no further modes, and for none otherwise. `.common` stands
  ///     for every mode that is common when the loop drains the queue.
  ///   - more: Further modes. The block runs once, in the first of all these modes that runs.
  ///   - block: Takes over what it captures. If the caller goes on using a captured value, for instance a `Mutex`,
  ///     write `{ @Sendable in … }`: then the compiler accepts captures that are `Sendable`.
  ///   - onDrop: Called once, instead of the block, if the loop ends before it runs the block: on the ending thread,
  ///     with no lock held [RLK-DROP-1, RLK-DROP-3]. Not called if this call throws, nor in a child of fork(2).
  /// - Thread: Any. - Re-entry: Allowed. - Blocks: No.
  /// - Throws: A `RunLoopError`: `.loopEnded`, `.forked`; the call releases the block then.
  /// - Complexity: O(1), amortized; one write(2) if the loop sleeps.
  public func perform(
    in mode: Mode? = nil, _ more: Mode..., block: sending @escaping () -> Void, onDrop: (@Sendable () -> Void)? = nil
  ) throws {
    // A single mode needs no array.
    guard more.isEmpty, onDrop == nil else {
      return try perform(in: NamedModes(mode, more), block: block, onDrop: onDrop)
    }
    try append(consume block, inOne: mode)
    wakes.word.signal()
  }

  /// As `perform(in:_:block:onDrop:)`, but does not wake the loop: if it sleeps, something else has to wake it.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// try loop.enqueue {
  ///   print("in the next pass")  // prints in the next pass
  ///   loop.stop()
  /// }
  /// try loop.run()
  /// ```
  /// - SeeAlso: `CFRunLoopPerformBlock`.
  public func enqueue(in mode: Mode? = nil, _ more: Mode..., block: sending @escaping () -> Void) throws {
    guard more.isEmpty else { return try enqueue(in: NamedModes(mode, more), block: block) }
    try append(consume block, inOne: mode)
  }

  /// As `perform(in:_:block:onDrop:)`, in the modes of a list. An empty list stands for the default mode
  /// [RLK-PERFORM-6].
  public func perform(
    in modes: [Mode], block: sending @escaping () -> Void, onDrop: (@Sendable () -> Void)? = nil
  ) throws {
    try perform(in: NamedModes(modes), block: block, onDrop: onDrop)
  }

  /// As `enqueue(in:_:block:)`, in the modes of a list. An empty list stands for the default mode [RLK-PERFORM-6].
  public func enqueue(in modes: [Mode], block: sending @escaping () -> Void) throws {
    try enqueue(in: NamedModes(modes), block: block)
  }

  /// As `perform(in:_:block:onDrop:)`, in named modes.
  package func perform(
    in modes: NamedModes, block: sending @escaping () -> Void, onDrop: (@Sendable () -> Void)? = nil
  ) throws(RunLoopError) {
    guard onDrop != nil else {
      try append(consume block, in: modes)
      return wakes.word.signal()
    }
    let posted = PostedBlock(HeldBlock(body: consume block), onDrop)
    try post(posted, in: modes) { posted.run() }
  }

  /// As `enqueue(in:_:block:)`, in named modes.
  package func enqueue(in modes: NamedModes, block: sending @escaping () -> Void) throws(RunLoopError) {
    try append(consume block, in: modes)
  }

  /// Inlined, because that makes posting faster. Nil stands for the default mode.
  @inline(__always)
  private func append(_ block: consuming @escaping () -> Void, inOne mode: Mode?) throws(RunLoopError) {
    guard isInThisProcess else { throw .forked }
    lock.lock()
    guard !hasEnded else {
      lock.unlock()
      throw endedError
    }
    // Not `??`, which would retain the name.
    let mode = if let mode { state.makeMode(mode) } else { state.makeMode(.default) }
    state.blocks.append(QueuedBlock(mode: mode, others: nil, body: consume block))
    queuedBlocks.store(1, ordering: .releasing)
    lock.unlock()
  }

  private func append(_ block: consuming @escaping () -> Void, in modes: NamedModes) throws(RunLoopError) {
    guard !modes.several.isEmpty else { return try append(consume block, inOne: modes.first) }
    guard isInThisProcess else { throw .forked }
    lock.lock()
    guard !hasEnded else {
      lock.unlock()
      throw endedError
    }
    let mode = state.makeMode(modes.first)
    let others = QueuedBlock.OtherModes(modes.several.map { state.makeMode($0) }, besides: mode)
    state.blocks.append(QueuedBlock(mode: mode, others: consume others, body: consume block))
    queuedBlocks.store(1, ordering: .releasing)
    lock.unlock()
  }
}
