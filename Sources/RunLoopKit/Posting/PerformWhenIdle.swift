extension RunLoop {
  /// Runs `block` once when the mode is quiet: in a pass that is about to wait, with nothing ready, due or queued
  /// [RLK-IDLE-5].
  ///
  /// Each quiet pass runs one block, the first in the queue. Before the next block, the loop serves what has arrived.
  /// If an idle block queues another idle block, that waits until something else has woken the loop. So work that
  /// queues itself again runs once each time the loop becomes quiet, and the loop sleeps in between. Idle blocks do not
  /// keep a run going.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// try loop.performWhenIdle {
  ///   print("nothing else to do")
  ///   loop.stop()
  /// }
  /// try loop.perform { print("work") }
  /// try loop.run()
  /// // prints work
  /// // prints nothing else to do
  /// ```
  /// - Parameters:
  ///   - mode: The block waits while the loop runs in other modes. `.common` stands for all common modes.
  ///   - label: The block's name in reports of slow callouts.
  ///   - file: Named by these reports if there is no label, as `line`; leave both out.
  ///   - line: The line of the call.
  ///   - block: Released right after it ran or, if it never ran, when the loop ends: on its thread, with no lock held
  ///     [RLK-IDLE-1, RLK-IDLE-2].
  ///   - onDrop: Called once, instead of the block, if the loop ends first: on its thread, with no lock held
  ///     [RLK-DROP-5]. Not called if this call throws, nor in a child of fork(2).
  /// - Thread: Any; wakes the loop. - Blocks: No.
  /// - Throws: A `RunLoopError`: `.loopEnded`, `.forked`; the call releases the block then.
  /// - Complexity: O(1), amortized; a block costs two system calls [RLK-IDLE-4].
  public func performWhenIdle(
    in mode: Mode = .default, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
    block: sending @escaping () -> Void, onDrop: (@Sendable () -> Void)? = nil
  ) throws {
    let posted = PostedBlock(HeldBlock(body: consume block), onDrop)
    let name = BlockName(label, at: CallPlace(file, line))
    do {
      try append(
        HeldBlock { [self] in
          posted.run()
          hasPerformed(name)
        }, whenIdleIn: mode)
    } catch {
      posted.isRefused()
      throw error
    }
  }

  private func append(_ block: consuming HeldBlock, whenIdleIn mode: Mode) throws {
    try checkUsable()
    let made = lock.withLock { hasEnded ? nil : state.makeExtras().idleWork(for: mode) }
    guard let work = made else { throw endedError }
    try add(work.observer, to: mode)
    // The loop may have ended meanwhile, and then no longer runs the queue.
    guard let place = work.queue.append(consume block, isFromLoop: isCurrent) else { throw endedError }
    if place == .next { wakeUp() }
  }

  /// Whether nothing is ready, due or queued. Called before a wait. - Thread: The loop's own.
  var isQuiet: Bool {
    guard !stops.isQuitting else { return false }
    guard let mode = lock.withLock({ state.currentMode }) else { return true }
    // The mode runs, so it has a port set.
    if mode.ports.set!.hasBatch || mode.hasMessages(on: self) || mode.ports.set!.isReadable { return false }
    return lock.withLock {
      !state.hasBlocks(for: mode) && !mode.timers.isDue(soft: false)
        && !mode.sources.hasSignalled
    }
  }
}
