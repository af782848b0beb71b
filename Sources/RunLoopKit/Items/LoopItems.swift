// Each function creates an item and adds it to a mode of the loop. They have the names and parameters of the methods of
// `Local`, except `observe` (there `observer`), and closures that are `Sendable`, so that any thread may call them.

extension RunLoop {
  /// Sets where the program made the item, and adds it.
  package func added<New: Item>(_ item: New, to mode: Mode, at place: CallPlace) throws -> New {
    item.place = place
    try add(item, to: mode)
    return item
  }

  /// Creates a timer and adds it to `mode` [RLK-MAKE-1].
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// try loop.timer(after: .milliseconds(10)) { _ in
  ///   print("it is time")  // prints it is time
  ///   loop.stop()
  /// }
  /// try loop.run()
  /// ```
  /// - Parameters:
  ///   - delay: The time from the call to the first date. If it is zero or less, the timer is due at once.
  ///   - interval: The time between two dates. If it is zero or less, the timer fires once.
  ///   - tolerance: How late the loop may fire the timer to save a wake. Zero or less means not at all, nil the loop's
  ///     `defaultTimerTolerance`.
  ///   - clock: The clock of the timer's dates.
  ///   - mode: `.common` stands for all common modes.
  ///   - file: Named by reports of a slow callout, as `line`; leave both out.
  ///   - line: The line of the call.
  ///   - body: Called on the loop's thread, with no lock held; retained until the timer is invalid.
  /// - Returns: The timer, which the mode retains.
  /// - Throws: As `add(_:to:)`; the timer and its closure are released then [RLK-MAKE-2]. - Thread: Any.
  /// - Complexity: As `add(_:to:)`, and an allocation for `file` and `line`, which the initialiser does without.
  @discardableResult
  public func timer(
    after delay: Duration, interval: Duration = .zero, tolerance: Duration? = nil,
    on clock: TimerClock = .suspending, in mode: Mode = .default, file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Timer) -> Void
  ) throws -> Timer {
    let date = Time.advance(kernel.now(clock), by: delay)
    return try timer(clock, date, interval, tolerance, 0, mode, CallPlace(file, line), body)
  }

  /// Does what `timer(after:interval:tolerance:on:in:file:line:_:)` does, but with an absolute first date. The date's
  /// type chooses the timer's clock. - Thread: Any.
  @discardableResult
  public func timer(
    fireDate: some ClockInstant, interval: Duration = .zero, tolerance: Duration? = nil, in mode: Mode = .default,
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (Timer) -> Void
  ) throws -> Timer {
    try timer(
      type(of: fireDate).clock, fireDate.nanoseconds, interval, tolerance, 0, mode, CallPlace(file, line), body)
  }

  /// Creates a disarmed timer that fires once for each date that the program sets, and adds it to `mode`. The
  /// parameters are those of `Timer(rearmableOn:tolerance:order:_:)`. - Throws: As `add(_:to:)`. - Thread: Any.
  public func rearmableTimer(
    on clock: TimerClock = .suspending, tolerance: Duration? = nil, order: Int = 0, in mode: Mode = .default,
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (Timer) -> Void
  ) throws -> Timer {
    try timer(clock, Time.forever, .forever, tolerance, order, mode, CallPlace(file, line), body)
  }

  /// Does what `rearmableTimer(on:tolerance:order:in:file:line:_:)` does, but sets the first date. The date's type
  /// chooses the timer's clock. - Thread: Any.
  @discardableResult
  public func rearmableTimer(
    fireDate: some ClockInstant, tolerance: Duration? = nil, order: Int = 0, in mode: Mode = .default,
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (Timer) -> Void
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
        clock, date: date, interval: interval, tolerance: tolerance, order: order, onlyLoop: nil, unchecked: body),
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
  ///   - body: Called on the loop's thread, with no lock held; retained until the observer is invalid.
  /// - Returns: The observer, which the mode retains.
  /// - Throws: As `add(_:to:)`. - Thread: Any.
  @discardableResult
  public func observe(
    _ activities: Activity, order: Int = 0, repeats: Bool = true, in mode: Mode = .default,
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (Observer, Activity) -> Void
  ) throws -> Observer {
    try added(Observer(activities, order: order, repeats: repeats, body), to: mode, at: CallPlace(file, line))
  }

  /// Creates a signalled source and adds it to `mode`. Any thread may signal it.
  /// - Parameters:
  ///   - order: The loop performs sources of lower order first.
  ///   - hooks: What is called when the source enters and leaves a mode, and its context. If `mode` has a source with
  ///     the same identity, the new one stays out of it, as with `add(_:to:)`.
  ///   - mode: `.common` stands for all common modes.
  ///   - file: Named by reports of a slow callout, as `line`; leave both out.
  ///   - line: The line of the call.
  ///   - body: Called on the loop's thread, with no lock held; retained until the source is invalid.
  /// - Returns: The source, which the mode retains.
  /// - Throws: As `add(_:to:)`. - Thread: Any.
  @discardableResult
  public func source(
    order: Int = 0, hooks: Source.Hooks = Source.Hooks(), in mode: Mode = .default, file: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @Sendable (Source) -> Void
  ) throws -> Source {
    try added(Source(order: order, hooks: hooks, body), to: mode, at: CallPlace(file, line))
  }

  /// Creates a port source on a counter and adds it to `mode`. The parameters are those of `PortSource`.
  /// - Throws: As its initialiser, and `add(_:to:)`. - Thread: Any.
  @discardableResult
  public func portSource(
    fileDescriptor: Int32, limit: RateLimit? = nil, order: Int = 0, in mode: Mode = .default,
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (PortSource) -> Void
  ) throws -> PortSource {
    try added(
      PortSource(fileDescriptor: fileDescriptor, limit: limit, order: order, body), to: mode, at: CallPlace(file, line))
  }

  /// Creates a port source for a counter or pipe of another package's type, such as `FileDescriptor` of swift-system,
  /// and adds it to `mode`. - Throws: As the function that takes an `Int32`. - Thread: Any.
  @discardableResult
  public func portSource(
    fileDescriptor: some RawRepresentable<CInt>, limit: RateLimit? = nil, order: Int = 0, in mode: Mode = .default,
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (PortSource) -> Void
  ) throws -> PortSource {
    try portSource(
      fileDescriptor: fileDescriptor.rawValue, limit: limit, order: order, in: mode, file: file, line: line, body)
  }

  /// Creates a descriptor source and adds it to `mode`. The parameters are those of `FileDescriptorSource`.
  ///
  /// With `.closesWhenInvalidated`, a call that throws closes the descriptor, unless the initialiser has thrown.
  /// - Throws: As the initialiser, and `add(_:to:)`. - Thread: Any.
  @discardableResult
  public func fileDescriptorSource(
    fileDescriptor: Int32, interest: Readiness, trigger: FileDescriptorSource.Trigger = .level,
    ownership: FileDescriptorSource.Ownership = .borrowed, unpollable: FileDescriptorSource.Unpollable = .refuse,
    limit: RateLimit? = nil, order: Int = 0, in mode: Mode = .default, file: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @Sendable (FileDescriptorSource, Readiness) -> Void
  ) throws -> FileDescriptorSource {
    try added(
      FileDescriptorSource(
        fileDescriptor: fileDescriptor, interest: interest, trigger: trigger, ownership: ownership,
        unpollable: unpollable, limit: limit, order: order, body),
      to: mode, at: CallPlace(file, line))
  }

  /// Creates a descriptor source for a descriptor of another package's type, such as `FileDescriptor` of swift-system,
  /// and adds it to `mode`. - Throws: As the function that takes an `Int32`. - Thread: Any.
  @discardableResult
  public func fileDescriptorSource(
    fileDescriptor: some RawRepresentable<CInt>, interest: Readiness, trigger: FileDescriptorSource.Trigger = .level,
    ownership: FileDescriptorSource.Ownership = .borrowed, unpollable: FileDescriptorSource.Unpollable = .refuse,
    limit: RateLimit? = nil, order: Int = 0, in mode: Mode = .default, file: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @Sendable (FileDescriptorSource, Readiness) -> Void
  ) throws -> FileDescriptorSource {
    try fileDescriptorSource(
      fileDescriptor: fileDescriptor.rawValue, interest: interest, trigger: trigger, ownership: ownership,
      unpollable: unpollable, limit: limit, order: order, in: mode, file: file, line: line, body)
  }
}

// MARK: Ports

extension RunLoop {
  /// Creates a port and adds it to `mode`. Any thread may use its send right. The parameters are those of `Port`.
  /// - Throws: As `add(_:to:)`. - Thread: Any.
  @discardableResult
  public func port(
    queueLimit: Int = Port.defaultQueueLimit, in mode: Mode = .default, file: StaticString = #fileID,
    line: UInt = #line, _ receive: @escaping @Sendable (Port, Message) -> Void
  ) throws -> Port {
    try added(Port(queueLimit: queueLimit, receive), to: mode, at: CallPlace(file, line))
  }

  /// Creates a port whose closure returns the answer, and adds it to `mode`. - Throws: As `add(_:to:)`. - Thread: Any.
  @_disfavoredOverload  // a trailing closure is taken as `receive`
  @discardableResult
  public func port(
    queueLimit: Int = Port.defaultQueueLimit, in mode: Mode = .default, file: StaticString = #fileID,
    line: UInt = #line, replying: @escaping @Sendable (Port, Message) -> Message?
  ) throws -> Port {
    try added(Port(queueLimit: queueLimit, replying: replying), to: mode, at: CallPlace(file, line))
  }

  /// Creates a port with a delegate, which it does not retain, and adds it to `mode`.
  /// - Throws: As `add(_:to:)`. - Thread: Any.
  @discardableResult
  public func port(
    queueLimit: Int = Port.defaultQueueLimit, in mode: Mode = .default, delegate: any PortDelegate & Sendable,
    file: StaticString = #fileID, line: UInt = #line
  ) throws -> Port {
    try added(Port(queueLimit: queueLimit, delegate: delegate), to: mode, at: CallPlace(file, line))
  }
}

// MARK: Patterns

extension RunLoop {
  /// Creates a commit, by default in every common mode. The parameters are those of `Commit`.
  /// - Throws: As its initialiser. - Thread: Any.
  public func commit(
    in mode: Mode = .common, at moment: Commit.Moment = .beforeWaiting, order: Int = 2_000_000,
    file: StaticString = #fileID, line: UInt = #line, _ flush: @escaping @Sendable () -> Void
  ) throws -> Commit {
    try Commit(on: self, in: mode, at: moment, order: order, file: file, line: line, flush)
  }

  /// Creates a display link and adds it to `mode`. The parameters are those of `DisplayLink`.
  /// - Throws: As `DisplayLink.add(to:in:)`. - Thread: Any.
  @discardableResult
  public func displayLink(
    rate: FrameRate = FrameRate(frames: 60), in mode: Mode = .default, file: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @Sendable (DisplayLink, DisplayLink.Frame) -> Void
  ) throws -> DisplayLink {
    let link = DisplayLink(rate: rate, file: file, line: line, body)
    try link.add(to: self, in: mode)
    return link
  }
}
