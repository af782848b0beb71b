extension RunLoop {
  /// Runs `block` once on the loop's thread, after a delay, when the loop runs in the mode.
  ///
  /// The loop uses a one-shot timer of the mode, which keeps the mode from being empty and is late if the loop is busy
  /// or runs in other modes. Blocks of equal dates run in the order of the calls. Even with a delay of zero the block
  /// does not run inside this call, but when the loop next fires timers. If a timer, a port or a block at the end of a
  /// pass makes the call, the block runs in the next pass.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let late = try loop.perform(after: .seconds(60)) { print("never") }
  /// try loop.perform(after: .milliseconds(10)) {
  ///   print(late.cancel())  // prints true
  ///   loop.stop()
  /// }
  /// try loop.run()
  /// ```
  /// - Parameters:
  ///   - delay: Counts from now. With zero or less, the block runs as soon as the loop fires timers [RLK-VALUE-2].
  ///   - tolerance: How much later the block may run, so that wakes can be shared. Zero or less means not at all; nil
  ///     means the loop's `defaultTimerTolerance` [RLK-DELAY-9].
  ///   - modes: The block runs once, in the first of them that runs when the delay has passed. Without any, it runs in
  ///     the default mode. `.common` stands for all common modes.
  ///   - target: Retained until the block has run or is cancelled; `cancelPerforms(target:key:)` finds the block by it.
  ///   - key: Distinguishes the performs of one target.
  ///   - file: Named by reports of a slow block, as `line`; leave both out.
  ///   - line: The line of the call.
  ///   - block: Released, like the target, right after it ran, on the loop's thread; else by the thread that cancels
  ///     it, or when the loop ends. No lock is held then [RLK-DELAY-4, RLK-DELAY-5].
  ///   - onDrop: Called once, instead of the block, if the block will never run: it was cancelled, its timer was
  ///     invalidated, or removed and released, or the loop has ended [RLK-DROP-2]. The thread that has caused this
  ///     makes the call, with no lock held. Not called if this call throws, nor in a child of fork(2).
  /// - Returns: A handle that can cancel the block. The block does not need it.
  /// - Throws: A `RunLoopError`: `.loopEnded`, `.forked`; `.system` if there is no memory for the timer in one of the
  ///   modes. The block will not run then [RLK-DELAY-8].
  /// - Thread: Any; a sleeping loop wakes on time even for a date before that of its first timer [RLK-DELAY-7].
  /// - Blocks: No.
  /// - Complexity: O(modes * log timers).
  /// - SeeAlso: `performSelector:withObject:afterDelay:inModes:`.
  @discardableResult
  public func perform(
    after delay: Duration, tolerance: Duration? = nil, in modes: Mode..., target: AnyObject? = nil,
    key: (any Hashable & Sendable)? = nil, file: StaticString = #fileID, line: UInt = #line,
    block: sending @escaping () -> Void, onDrop: (@Sendable () -> Void)? = nil
  ) throws -> DelayedPerform {
    try perform(
      after: delay, tolerance: tolerance, in: NamedModes(modes), target: target, key: key, at: CallPlace(file, line),
      block: block, onDrop: onDrop)
  }

  /// As `perform(after:tolerance:in:target:key:file:line:block:onDrop:)`, in the modes of a list. An empty list stands
  /// for the default mode [RLK-PERFORM-6].
  @discardableResult
  public func perform(
    after delay: Duration, tolerance: Duration? = nil, in modes: [Mode], target: AnyObject? = nil,
    key: (any Hashable & Sendable)? = nil, file: StaticString = #fileID, line: UInt = #line,
    block: sending @escaping () -> Void, onDrop: (@Sendable () -> Void)? = nil
  ) throws -> DelayedPerform {
    try perform(
      after: delay, tolerance: tolerance, in: NamedModes(modes), target: target, key: key, at: CallPlace(file, line),
      block: block, onDrop: onDrop)
  }

  /// As `perform(after:tolerance:in:target:key:file:line:block:onDrop:)`, in named modes.
  @discardableResult
  package func perform(
    after delay: Duration, tolerance: Duration? = nil, in modes: NamedModes, target: AnyObject? = nil,
    key: (any Hashable & Sendable)? = nil, at place: CallPlace = CallPlace(), block: sending @escaping () -> Void,
    onDrop: (@Sendable () -> Void)? = nil
  ) throws -> DelayedPerform {
    try checkUsable()
    let performed = DelayedPerform(
      DelayedPerform.Pending(
        loop: self, target: target, key: key.map { AnyHashable($0) }, block: consume block, onDrop: onDrop),
      target: target.map { ObjectIdentifier($0) })
    let turn = DelayedTurn(performed)
    let timer = timer(after: delay, tolerance, onlyLoop: nil) { _ in turn.run() }
    timer.place = place
    try schedule(performed, timer, modes, reportsDrop: onDrop != nil)
    return performed
  }

  fileprivate func timer(
    after delay: Duration, _ tolerance: Duration?, onlyLoop: RunLoop?, _ body: @escaping (Timer) -> Void
  ) -> Timer {
    Timer(
      .suspending, date: Time.add(kernel.now(), delay.nanosecondsRoundedUp), interval: .zero, tolerance: tolerance,
      order: 0, onlyLoop: onlyLoop, unchecked: body)
  }

  fileprivate func schedule(
    _ performed: DelayedPerform, _ timer: Timer, _ modes: NamedModes, reportsDrop: Bool
  ) throws {
    performed.wait(for: timer)
    timer.noteAdding()  // if the loop has just ended, the timer is not added
    let isListed = lock.withLock {
      guard !hasEnded else { return false }
      state.delayedPerforms.insert(performed, target: performed.target)
      return true
    }
    do {
      guard isListed else { throw endedError }
      try add(timer, to: modes.first)
      for mode in modes.several.dropFirst() { try add(timer, to: mode) }
    } catch {
      // A mode may have run the block meanwhile, or the block was dropped and `onDrop` called. In both cases the block
      // was accepted, so the call must not throw.
      if performed.refuse() || (!performed.hasBegun && !reportsDrop) { throw error }
    }
  }

  /// Cancels the delayed performs of a target: all of them, or those with the key [RLK-DELAY-1].
  ///
  /// - Returns: How many blocks will not run because of this call. If the loop's own thread calls it, none of these
  ///   blocks runs afterwards. If another thread calls it, a block that has begun is not counted, and runs to its end
  ///   [RLK-DELAY-3, RLK-DELAY-6].
  /// - Thread: Any. This call releases the blocks, with no lock held.
  /// - Blocks: No.
  /// - Complexity: O(performs of the target).
  /// - SeeAlso: `cancelPreviousPerformRequestsWithTarget:selector:object:`.
  @discardableResult
  public func cancelPerforms(target: AnyObject, key: (any Hashable & Sendable)? = nil) -> Int {
    guard isUsable else { return 0 }
    let key = key.map { AnyHashable($0) }
    let found = lock.withLock { state.delayedPerforms.all(of: ObjectIdentifier(target)) }
    return found.count { (key == nil || $0.hasKey(key)) && $0.cancel() }
  }
}

extension RunLoop.Local {
  /// As `RunLoop.perform(after:tolerance:in:target:key:file:line:block:onDrop:)`. Block and target are released on this
  /// thread. If another thread cancels the perform, they are released after this thread's next callout [RLK-LOCAL-2].
  /// - Parameters:
  ///   - delay: Counts from now. With zero or less, the block runs as soon as the loop fires timers.
  ///   - tolerance: How much later the block may run, so that wakes can be shared. Zero or less means not at all; nil
  ///     means the loop's `defaultTimerTolerance`.
  ///   - mode: `.common` stands for all common modes.
  ///   - target: Retained with the block; `cancelPerforms(target:key:)` finds the block by it [RLK-LOCAL-3].
  ///   - key: Distinguishes the performs of one target.
  ///   - file: Named by reports of a slow block, as `line`; leave both out.
  ///   - line: The line of the call.
  ///   - block: Called once, on this thread.
  /// - Throws: A `RunLoopError`: `.loopEnded`, `.forked`; `.system` if there is no memory for the timer.
  @discardableResult
  public func perform(
    after delay: Duration, tolerance: Duration? = nil, in mode: RunLoop.Mode = .default, target: AnyObject? = nil,
    key: (any Hashable & Sendable)? = nil, file: StaticString = #fileID, line: UInt = #line,
    block: @escaping () -> Void
  ) throws -> RunLoop.DelayedPerform {
    try loop.checkUsable()
    // Only the timer retains block and target, because an item of one loop releases its closure on that loop's thread.
    let performed = RunLoop.DelayedPerform(
      RunLoop.DelayedPerform.Pending(
        loop: loop, target: nil, key: key.map { AnyHashable($0) }, block: {}, onDrop: nil),
      target: target.map { ObjectIdentifier($0) })
    let turn = DelayedTurn(performed)
    let timer = loop.timer(after: delay, tolerance, onlyLoop: loop) { _ in
      withExtendedLifetime(target) { if turn.run() { block() } }
    }
    timer.place = CallPlace(file, line)
    try loop.schedule(performed, timer, RunLoop.NamedModes([mode]), reportsDrop: false)
    return performed
  }
}
