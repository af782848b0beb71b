extension RunLoop {
  /// Calls `body` with a `Local`, which creates items whose closures may use the thread's own state: such an item can
  /// join this loop only, its closure runs on this thread only, and so need not be Sendable. Traps on another thread
  /// than the loop's own.
  ///
  /// What `body` throws keeps its type [RLK-ADD-10]; the language wants it named in a closure:
  /// `{ local throws(RunLoopError) in ... }`.
  public func assumeOnLoop<R, E: Error>(_ body: (borrowing Local) throws(E) -> R) throws(E) -> R {
    guard isCurrent else {
      // Not a precondition, which says nothing where the optimizer is on.
      fatalError("assumeOnLoop: call this on the run loop's own thread, or post it with perform(in:block:)")
    }
    return try body(Local(loop: self))
  }

  /// The same for a body that makes no items: it checks that this is the loop's own thread, and what it throws keeps
  /// its type.
  public func assumeOnLoop<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    guard isCurrent else {
      // Not a precondition, which says nothing where the optimizer is on.
      fatalError("assumeOnLoop: call this on the run loop's own thread, or post it with perform(in:block:)")
    }
    return try body()
  }

  /// Makes items whose closures may capture what belongs to the loop's thread. Exists on that thread only.
  public struct Local: ~Copyable {
    package let loop: RunLoop

    /// A timer that is added to `mode`. - Throws: As `add(_:to:)`.
    @discardableResult
    public func timer(
      after delay: Duration, every interval: Duration = .zero, tolerance: Duration = .zero, in mode: Mode = .default,
      _ body: @escaping (Timer) -> Void
    ) throws(RunLoopError) -> Timer {
      let timer = Timer(
        .suspending, date: Instant.now.advanced(by: delay).nanoseconds, interval: interval, tolerance: tolerance,
        order: 0, context: nil, onlyHost: loop, unchecked: body)
      try loop.add(timer, to: mode)
      return timer
    }

    /// A rearmable timer that is added to `mode`, disarmed at first; it fires once for each date that it is given.
    /// - Throws: As `add(_:to:)`.
    public func rearmableTimer(
      tolerance: Duration = .zero, in mode: Mode = .default, _ body: @escaping (Timer) -> Void
    ) throws(RunLoopError) -> Timer {
      let timer = Timer(
        .suspending, date: Time.forever, interval: .forever, tolerance: tolerance, order: 0, context: nil,
        onlyHost: loop,
        unchecked: body)
      try loop.add(timer, to: mode)
      return timer
    }

    /// An observer that is added to `mode`. - Throws: As `add(_:to:)`.
    @discardableResult
    public func observer(
      _ activities: Activity, order: Int = 0, in mode: Mode = .default, _ body: @escaping (Activity) -> Void
    ) throws(RunLoopError) -> Observer {
      let observer = Observer(activities, order: order, repeats: true, context: nil, onlyHost: loop) { body($1) }
      try loop.add(observer, to: mode)
      return observer
    }

    /// A signalled source that is added to `mode`. It may be signalled from any thread. - Throws: As `add(_:to:)`.
    @discardableResult
    public func source(
      order: Int = 0, in mode: Mode = .default, _ body: @escaping (Source) -> Void
    ) throws(RunLoopError) -> Source {
      let source = Source(order: order, context: nil, hooks: Source.Hooks(), onlyHost: loop, unchecked: body)
      try loop.add(source, to: mode)
      return source
    }

    /// A descriptor source that is added to `mode`. - Throws: As its initialiser and `add(_:to:)`.
    @discardableResult
    public func descriptor(
      _ fileDescriptor: Int32, interest: FileDescriptorSource.Readiness,
      trigger: FileDescriptorSource.Trigger = .level, ownership: FileDescriptorSource.Ownership = .borrowed,
      unpollable: FileDescriptorSource.Unpollable = .refuse, order: Int = 0, in mode: Mode = .default,
      _ body: @escaping (FileDescriptorSource, FileDescriptorSource.Readiness) -> Void
    ) throws(RunLoopError) -> FileDescriptorSource {
      let source = try FileDescriptorSource(
        fileDescriptor: fileDescriptor, interest: interest, trigger: trigger, ownership: ownership,
        unpollable: unpollable, limit: nil, order: order, onlyHost: loop, unchecked: body)
      try loop.add(source, to: mode)
      return source
    }

    /// As `RunLoop.perform(in:block:)`.
    public func perform(in mode: Mode = .default, block: @escaping () -> Void) throws(RunLoopError) {
      // Stays on this thread: the loop runs its blocks on its own thread, which is this one.
      nonisolated(unsafe) let block = block
      try loop.perform(in: mode, block: block)
    }
  }
}

extension RunLoop.Local {
  /// A port that is added to `mode`. Its right may be used from any thread. - Throws: As `add(_:to:)`.
  @discardableResult
  public func port(
    queueLimit: Int = RunLoop.Port.defaultQueueLimit, in mode: RunLoop.Mode = .default,
    _ receive: @escaping (RunLoop.Port, RunLoop.Message) -> Void
  ) throws(RunLoopError) -> RunLoop.Port {
    let port = RunLoop.Port(queueLimit: queueLimit, onlyHost: loop, unchecked: receive)
    try loop.add(port, to: mode)
    return port
  }

  /// A port whose body answers, added to `mode`. - Throws: As `add(_:to:)`.
  @_disfavoredOverload  // a trailing closure is a receiver's
  @discardableResult
  public func port(
    queueLimit: Int = RunLoop.Port.defaultQueueLimit, in mode: RunLoop.Mode = .default,
    replying: @escaping (RunLoop.Port, RunLoop.Message) -> RunLoop.Message?
  ) throws(RunLoopError) -> RunLoop.Port {
    try port(queueLimit: queueLimit, in: mode, RunLoop.Port.answering(replying))
  }

  /// A port with a delegate, added to `mode`. - Throws: As `add(_:to:)`.
  @discardableResult
  public func port(
    queueLimit: Int = RunLoop.Port.defaultQueueLimit, in mode: RunLoop.Mode = .default,
    delegate: any RunLoop.PortDelegate
  ) throws(RunLoopError) -> RunLoop.Port {
    try port(queueLimit: queueLimit, in: mode, RunLoop.Port.telling(delegate))
  }
}
