extension RunLoop {
  /// Calls `body` at once, with a `Local` that makes items whose closures may capture what belongs to this thread.
  ///
  /// Such an item can be added to this loop only. The loop calls and releases its closure on this thread only, so the
  /// closure need not be `Sendable`. The call traps on any other thread than the loop's own.
  ///
  /// An error that `body` throws keeps its type [RLK-ADD-10]. For that the closure has to name the type:
  /// `{ local throws(MyError) in ... }`.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// var ticks = 0
  /// try loop.assumeOnLoop { local in
  ///   try local.timer(after: .zero, interval: .milliseconds(1)) { _ in
  ///     ticks += 1
  ///     if ticks == 3 { loop.stop() }
  ///   }
  /// }
  /// try loop.run()
  /// print(ticks)  // prints 3
  /// ```
  ///
  /// To make an item in a callout, call `assumeOnLoop` there, too. The closure of an item cannot capture the `Local`:
  /// the compiler (6.3.1) ends with signal 11 in its MoveOnlyChecker then. If the parameter's type is written,
  /// `{ (local: borrowing RunLoop.Local) in ... }`, the compiler reports the capture as an error.
  /// - Parameter body: Called once, before the return, on this thread.
  /// - Returns: What `body` returned. - Thread: The loop's own. - Throws: What `body` throws.
  @discardableResult
  public func assumeOnLoop<R, E: Error>(_ body: (borrowing Local) throws(E) -> R) throws(E) -> R {
    guard isCurrent else {
      // fatalError, since a precondition prints no message in optimised builds.
      fatalError("assumeOnLoop: call this on the run loop's own thread, or post it by perform(in:_:block:onDrop:)")
    }
    return try body(Local(loop: self))
  }

  /// Makes items whose closures may capture what belongs to the loop's thread.
  ///
  /// A value of this type exists inside `assumeOnLoop(_:)` only. Each method creates an item and adds it to a mode of
  /// the loop, or queues a block. A method that creates an item has the name of the item's type and the parameters of
  /// its initialiser. A method that queues a block has the parameters of the method of `RunLoop` with the same name.
  /// The loop calls the closures on its thread, with no lock held, and releases them there [RLK-LOCAL-1]. Reports of
  /// slow callouts name the parameters `file` and `line` of some methods; leave these out.
  /// - Thread: The loop's own. - Blocks: No.
  public struct Local: ~Copyable {
    @usableFromInline
    package let loop: RunLoop

    package func added<New: Item>(_ item: New, to mode: Mode, at place: CallPlace = CallPlace()) throws -> New {
      try loop.added(item, to: mode, at: place)
    }

    /// Creates a timer and adds it to `mode`.
    /// - Parameters:
    ///   - delay: The time from the call to the first date. If it is zero or less, the timer is due at once.
    ///   - interval: The time between two dates. If it is zero or less, the timer fires once.
    ///   - tolerance: How late the loop may fire the timer to save a wake. Zero or less means not at all, nil the
    ///     loop's `defaultTimerTolerance`.
    ///   - clock: The clock of the timer's dates.
    ///   - mode: `.common` stands for all common modes.
    ///   - file: Named by reports of a slow callout, as `line`; leave both out.
    ///   - line: The line of the call.
    ///   - body: Called on this thread each time the timer fires.
    /// - Throws: As `add(_:to:)`.
    @discardableResult
    public func timer(
      after delay: Duration, interval: Duration = .zero, tolerance: Duration? = nil,
      on clock: TimerClock = .suspending, in mode: Mode = .default, file: StaticString = #fileID,
      line: UInt = #line, _ body: @escaping (Timer) -> Void
    ) throws -> Timer {
      let date = Time.advance(loop.kernel.now(clock), by: delay)
      return try timer(clock, date, interval, tolerance, 0, mode, CallPlace(file, line), body)
    }

    /// Does what `timer(after:interval:tolerance:on:in:file:line:_:)` does, but with an absolute first date. The date's
    /// type chooses the timer's clock.
    @discardableResult
    public func timer(
      fireDate: some ClockInstant, interval: Duration = .zero, tolerance: Duration? = nil, in mode: Mode = .default,
      file: StaticString = #fileID, line: UInt = #line, _ body: @escaping (Timer) -> Void
    ) throws -> Timer {
      try timer(
        type(of: fireDate).clock, fireDate.nanoseconds, interval, tolerance, 0, mode, CallPlace(file, line), body)
    }

    /// Creates a disarmed timer that fires once for each date that the program sets, and adds it to `mode`: the
    /// counterpart of `Timer(rearmableOn:tolerance:order:_:)`.
    /// - Parameters:
    ///   - clock: The clock of the timer's dates.
    ///   - tolerance: How late the loop may fire the timer to save a wake. Zero or less means not at all, nil the
    ///     loop's `defaultTimerTolerance`.
    ///   - order: Ignored: timers fire in the order of their dates.
    ///   - mode: `.common` stands for all common modes.
    ///   - file: Named by reports of a slow callout, as `line`; leave both out.
    ///   - line: The line of the call.
    ///   - body: Called on this thread each time the timer fires.
    /// - Throws: As `add(_:to:)`.
    public func rearmableTimer(
      on clock: TimerClock = .suspending, tolerance: Duration? = nil, order: Int = 0, in mode: Mode = .default,
      file: StaticString = #fileID, line: UInt = #line, _ body: @escaping (Timer) -> Void
    ) throws -> Timer {
      try timer(clock, Time.forever, .forever, tolerance, order, mode, CallPlace(file, line), body)
    }

    /// Does what `rearmableTimer(on:tolerance:order:in:file:line:_:)` does, but sets the first date: the counterpart of
    /// `Timer(rearmable:tolerance:order:_:)`. The date's type chooses the timer's clock [RLK-LOCAL-4].
    @discardableResult
    public func rearmableTimer(
      fireDate: some ClockInstant, tolerance: Duration? = nil, order: Int = 0, in mode: Mode = .default,
      file: StaticString = #fileID, line: UInt = #line, _ body: @escaping (Timer) -> Void
    ) throws -> Timer {
      try timer(
        type(of: fireDate).clock, fireDate.nanoseconds, .forever, tolerance, order, mode, CallPlace(file, line), body)
    }

    private func timer(
      _ clock: TimerClock, _ date: UInt64, _ interval: Duration, _ tolerance: Duration?, _ order: Int, _ mode: Mode,
      _ place: CallPlace, _ body: @escaping (Timer) -> Void
    ) throws -> Timer {
      try added(
        Timer(
          clock, date: date, interval: interval, tolerance: tolerance, order: order, onlyLoop: loop,
          unchecked: body),
        to: mode, at: place)
    }

    /// Creates an observer and adds it to `mode`.
    /// - Parameters:
    ///   - activities: The moments of a run at which the loop calls the observer.
    ///   - order: The loop calls observers of lower order first.
    ///   - repeats: If this is false, the observer is invalid after its first call.
    ///   - mode: `.common` stands for all common modes.
    ///   - file: Named by reports of a slow callout, as `line`; leave both out.
    ///   - line: The line of the call.
    ///   - body: Called on this thread.
    /// - Throws: As `add(_:to:)`.
    @discardableResult
    public func observer(
      _ activities: Activity, order: Int = 0, repeats: Bool = true, in mode: Mode = .default,
      file: StaticString = #fileID, line: UInt = #line, _ body: @escaping (Observer, Activity) -> Void
    ) throws -> Observer {
      try added(
        Observer(activities, order: order, repeats: repeats, onlyLoop: loop, unchecked: body),
        to: mode, at: CallPlace(file, line))
    }

    /// Creates a signalled source and adds it to `mode`. Any thread may signal it.
    /// - Parameters:
    ///   - order: The loop performs sources of lower order first.
    ///   - hooks: Called when the source enters and leaves a mode, on the thread that causes this.
    ///   - mode: `.common` stands for all common modes.
    ///   - file: Named by reports of a slow callout, as `line`; leave both out.
    ///   - line: The line of the call.
    ///   - body: Called on this thread.
    /// - Throws: As `add(_:to:)`.
    @discardableResult
    public func source(
      order: Int = 0, hooks: Source.Hooks = Source.Hooks(), in mode: Mode = .default, file: StaticString = #fileID,
      line: UInt = #line, _ body: @escaping (Source) -> Void
    ) throws -> Source {
      try added(
        Source(order: order, hooks: hooks, onlyLoop: loop, unchecked: body), to: mode, at: CallPlace(file, line))
    }

    /// Creates a port source on a counter and adds it to `mode`.
    /// - Parameters:
    ///   - fileDescriptor: The counter or pipe to read from; at least 0, and open.
    ///   - limit: How often the loop may call the source; nil sets no limit.
    ///   - order: Ignored: port sources are served in the order of readiness.
    ///   - mode: `.common` stands for all common modes.
    ///   - file: Named by reports of a slow callout, as `line`; leave both out.
    ///   - line: The line of the call.
    ///   - body: Called on this thread.
    /// - Throws: As the initialiser of `PortSource`, and `add(_:to:)`.
    @discardableResult
    public func portSource(
      fileDescriptor: Int32, limit: RateLimit? = nil, order: Int = 0, in mode: Mode = .default,
      file: StaticString = #fileID, line: UInt = #line, _ body: @escaping (PortSource) -> Void
    ) throws -> PortSource {
      try added(
        PortSource(
          fileDescriptor: fileDescriptor, limit: limit, order: order, onlyLoop: loop, unchecked: body),
        to: mode, at: CallPlace(file, line))
    }

    /// Creates a descriptor source and adds it to `mode`. The parameters are those of `FileDescriptorSource`.
    /// - Throws: As its initialiser, and `add(_:to:)`.
    @discardableResult
    public func fileDescriptorSource(
      fileDescriptor: Int32, interest: FileDescriptorSource.Readiness,
      trigger: FileDescriptorSource.Trigger = .level, ownership: FileDescriptorSource.Ownership = .borrowed,
      unpollable: FileDescriptorSource.Unpollable = .refuse, limit: RateLimit? = nil, order: Int = 0,
      in mode: Mode = .default, file: StaticString = #fileID, line: UInt = #line,
      _ body: @escaping (FileDescriptorSource, FileDescriptorSource.Readiness) -> Void
    ) throws -> FileDescriptorSource {
      try added(
        FileDescriptorSource(
          fileDescriptor: fileDescriptor, interest: interest, trigger: trigger, ownership: ownership,
          unpollable: unpollable, limit: limit, order: order, onlyLoop: loop, unchecked: body),
        to: mode, at: CallPlace(file, line))
    }
  }
}

// MARK: Blocks

extension RunLoop.Local {
  // These blocks need not be `Sendable`: the loop runs and releases them on its own thread, which is this one.

  /// As `RunLoop.perform(in:_:block:onDrop:)`.
  public func perform(in mode: RunLoop.Mode? = nil, _ more: RunLoop.Mode..., block: @escaping () -> Void) throws {
    nonisolated(unsafe) let block = block
    if more.isEmpty {
      try loop.perform(in: mode, block: block)
    } else {
      try loop.perform(in: RunLoop.NamedModes(mode, more), block: block)
    }
  }

  /// As `RunLoop.perform(in:block:onDrop:)`.
  public func perform(in modes: [RunLoop.Mode], block: @escaping () -> Void) throws {
    nonisolated(unsafe) let block = block
    try loop.perform(in: modes, block: block)
  }

  /// As `RunLoop.enqueue(in:_:block:)`.
  public func enqueue(in mode: RunLoop.Mode? = nil, _ more: RunLoop.Mode..., block: @escaping () -> Void) throws {
    nonisolated(unsafe) let block = block
    if more.isEmpty {
      try loop.enqueue(in: mode, block: block)
    } else {
      try loop.enqueue(in: RunLoop.NamedModes(mode, more), block: block)
    }
  }

  /// As `RunLoop.enqueue(in:block:)`.
  public func enqueue(in modes: [RunLoop.Mode], block: @escaping () -> Void) throws {
    nonisolated(unsafe) let block = block
    try loop.enqueue(in: modes, block: block)
  }

  /// As `RunLoop.performWhenIdle(in:label:file:line:block:onDrop:)`.
  public func performWhenIdle(
    in mode: RunLoop.Mode = .default, label: String? = nil, file: StaticString = #fileID, line: UInt = #line,
    block: @escaping () -> Void
  ) throws {
    nonisolated(unsafe) let block = block
    try loop.performWhenIdle(in: mode, label: label, file: file, line: line, block: block)
  }
}

// MARK: Ports

extension RunLoop.Local {
  /// Creates a port and adds it to `mode`. Any thread may use its send right. - Throws: As `add(_:to:)`.
  @discardableResult
  public func port(
    queueLimit: Int = RunLoop.Port.defaultQueueLimit, in mode: RunLoop.Mode = .default,
    file: StaticString = #fileID, line: UInt = #line,
    _ receive: @escaping (RunLoop.Port, RunLoop.Message) -> Void
  ) throws -> RunLoop.Port {
    try added(
      RunLoop.Port(queueLimit: queueLimit, onlyLoop: loop, unchecked: receive), to: mode, at: CallPlace(file, line))
  }

  /// Creates a port whose closure returns the answer, and adds it to `mode`. - Throws: As `add(_:to:)`.
  @_disfavoredOverload  // a trailing closure is taken as `receive`
  @discardableResult
  public func port(
    queueLimit: Int = RunLoop.Port.defaultQueueLimit, in mode: RunLoop.Mode = .default,
    file: StaticString = #fileID, line: UInt = #line,
    replying: @escaping (RunLoop.Port, RunLoop.Message) -> RunLoop.Message?
  ) throws -> RunLoop.Port {
    try port(queueLimit: queueLimit, in: mode, file: file, line: line, RunLoop.Port.answering(replying))
  }

  /// Creates a port with a delegate and adds it to `mode`. The port does not retain the delegate.
  /// - Throws: As `add(_:to:)`.
  @discardableResult
  public func port(
    queueLimit: Int = RunLoop.Port.defaultQueueLimit, in mode: RunLoop.Mode = .default,
    delegate: any RunLoop.PortDelegate, file: StaticString = #fileID, line: UInt = #line
  ) throws -> RunLoop.Port {
    try port(queueLimit: queueLimit, in: mode, file: file, line: line, RunLoop.Port.calling(delegate))
  }
}
