import RunLoopKit

extension RunLoop.Local {
  /// Creates a signal source and adds it to `mode`.
  /// - Parameters:
  ///   - signals: The signals that the source receives.
  ///   - limit: How often the loop may call the source; nil for no limit.
  ///   - order: Among the sources of a mode for one signal, those of a lower order are called first.
  ///   - mode: `.common` stands for all common modes.
  ///   - body: Called on this thread for each signal.
  /// - Throws: As the initialiser of `SignalSource`, and `add(_:to:)`.
  @discardableResult
  public func signalSource(
    _ signals: RunLoop.Signal..., limit: RunLoop.RateLimit? = nil, order: Int = 0, in mode: RunLoop.Mode = .default,
    _ body: @escaping (RunLoop.SignalSource, RunLoop.SignalInfo) -> Void
  ) throws -> RunLoop.SignalSource {
    try added(RunLoop.SignalSource(Set(signals), limit: limit, order: order, onlyLoop: loop, unchecked: body), to: mode)
  }

  /// Creates a child source and adds it to `mode`.
  /// - Parameters:
  ///   - processID: The child's number, at least 1.
  ///   - ownership: Whether the source ends the child when it is invalidated.
  ///   - order: Ignored.
  ///   - mode: `.common` stands for all common modes.
  ///   - body: Called on this thread when the child has ended.
  /// - Throws: As the initialiser of `ChildSource`, and `add(_:to:)`.
  @discardableResult
  public func childSource(
    processID: Int32, ownership: RunLoop.ChildSource.Ownership = .borrowed, order: Int = 0,
    in mode: RunLoop.Mode = .default, _ body: @escaping (RunLoop.ChildSource, RunLoop.ExitStatus) -> Void
  ) throws -> RunLoop.ChildSource {
    try added(
      RunLoop.ChildSource(processID: processID, ownership: ownership, order: order, onlyLoop: loop, unchecked: body),
      to: mode)
  }

  /// As `fileWatch(path:events:limit:order:in:_:)`, for a path of bytes, which need not be UTF-8.
  @discardableResult
  public func fileWatch(
    pathBytes: [UInt8], events: RunLoop.FileWatch.Event.Kinds, limit: RunLoop.RateLimit? = nil, order: Int = 0,
    in mode: RunLoop.Mode = .default, _ body: @escaping (RunLoop.FileWatch, RunLoop.FileWatch.Event) -> Void
  ) throws -> RunLoop.FileWatch {
    try added(
      RunLoop.FileWatch(
        pathBytes, events: events, limit: limit, order: order, for: loop, onlyLoop: loop, unchecked: body),
      to: mode)
  }

  /// Creates a file watch and adds it to `mode`.
  /// - Parameters:
  ///   - path: The file or folder to watch.
  ///   - events: Which events to deliver.
  ///   - limit: How often the loop may call the source; nil for no limit.
  ///   - order: Ignored.
  ///   - mode: `.common` stands for all common modes.
  ///   - body: Called on this thread for each event.
  /// - Throws: As the initialiser of `FileWatch`, and `add(_:to:)`.
  @discardableResult
  public func fileWatch(
    path: String, events: RunLoop.FileWatch.Event.Kinds, limit: RunLoop.RateLimit? = nil, order: Int = 0,
    in mode: RunLoop.Mode = .default, _ body: @escaping (RunLoop.FileWatch, RunLoop.FileWatch.Event) -> Void
  ) throws -> RunLoop.FileWatch {
    try fileWatch(pathBytes: Array(path.utf8), events: events, limit: limit, order: order, in: mode, body)
  }

  /// Creates a memory pressure source and adds it to `mode`. - Throws: As `MemoryPressure.init` and `add(_:to:)`.
  @discardableResult
  public func memoryPressure(
    _ stall: RunLoop.MemoryPressure.Stall, longerThan time: Duration, within window: Duration,
    path: String = "/proc/pressure/memory", order: Int = 0, in mode: RunLoop.Mode = .default,
    _ body: @escaping (RunLoop.MemoryPressure, RunLoop.MemoryPressure.Event) -> Void
  ) throws -> RunLoop.MemoryPressure {
    try added(
      RunLoop.MemoryPressure(stall, time, window, path: path, order: order, onlyLoop: loop, unchecked: body), to: mode)
  }
}
