extension RunLoop {
  /// As `perform(in:_:block:onDrop:)`, with a name for the block in reports of slow callouts [RLK-STAT-5].
  ///
  /// A separate function, because a block without a label must not pay for one.
  /// - Parameters:
  ///   - label: What `SlowCallout.name` says if the block was slow.
  ///   - mode: As for the function without a label.
  ///   - more: Further modes.
  ///   - block: As for the function without a label.
  ///   - onDrop: As for the function without a label.
  /// - Thread: Any. - Re-entry: Allowed. - Blocks: No.
  /// - Throws: A `RunLoopError`: `.loopEnded`, `.forked`; the call releases the block then.
  /// - Complexity: As for the function without a label, and three allocations.
  public func perform(
    label: String, in mode: Mode? = nil, _ more: Mode..., block: sending @escaping () -> Void,
    onDrop: (@Sendable () -> Void)? = nil
  ) throws {
    let posted = PostedBlock(HeldBlock(body: consume block), onDrop)
    let name = BlockName(label)
    try post(posted, in: NamedModes(mode, more)) { [self] in
      posted.run()
      hasPerformed(name)
    }
  }

  /// As `perform(label:in:_:block:onDrop:)`, but does not wake the loop: if it sleeps, something else has to wake it.
  /// - Thread: Any.
  public func enqueue(
    label: String, in mode: Mode? = nil, _ more: Mode..., block: sending @escaping () -> Void
  ) throws {
    let posted = PostedBlock(HeldBlock(body: consume block), nil)
    let name = BlockName(label)
    try enqueue(in: NamedModes(mode, more)) { [self] in
      posted.run()
      hasPerformed(name)
    }
  }
}

extension RunLoop.Local {
  // As for blocks without a label: the loop runs and releases them on its own thread, which is this one.

  /// As `RunLoop.perform(label:in:_:block:onDrop:)`.
  public func perform(
    label: String, in mode: RunLoop.Mode? = nil, _ more: RunLoop.Mode..., block: @escaping () -> Void
  ) throws {
    nonisolated(unsafe) let block = block
    let name = BlockName(label)
    try loop.perform(in: RunLoop.NamedModes(mode, more)) { [loop] in
      block()
      loop.hasPerformed(name)
    }
  }

  /// As `RunLoop.enqueue(label:in:_:block:)`.
  public func enqueue(
    label: String, in mode: RunLoop.Mode? = nil, _ more: RunLoop.Mode..., block: @escaping () -> Void
  ) throws {
    nonisolated(unsafe) let block = block
    let name = BlockName(label)
    try loop.enqueue(in: RunLoop.NamedModes(mode, more)) { [loop] in
      block()
      loop.hasPerformed(name)
    }
  }
}
