import RunLoopKit

// Each function creates a source and adds it to a mode of the loop. They have the names and parameters of the methods
// of `Local`, and closures that are `Sendable`, so that any thread may call them.

extension RunLoop {
  /// Creates a signal source and adds it to `mode`. The parameters are those of `SignalSource`.
  /// - Throws: As its initialiser, and `add(_:to:)`. - Thread: Any; the signal mask must be as for a `SignalSource`.
  @discardableResult
  public func signalSource(
    _ signals: Signal..., limit: RateLimit? = nil, order: Int = 0, in mode: Mode = .default,
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (SignalSource, SignalInfo) -> Void
  ) throws -> SignalSource {
    try added(SignalSource(Set(signals), limit: limit, order: order, body), to: mode, at: CallPlace(file, line))
  }

  /// Creates a child source and adds it to `mode`. The parameters are those of `ChildSource`.
  /// - Throws: As its initialiser, and `add(_:to:)`. - Thread: Any.
  @discardableResult
  public func childSource(
    processID: Int32, ownership: ChildSource.Ownership = .borrowed, order: Int = 0, in mode: Mode = .default,
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (ChildSource, ExitStatus) -> Void
  ) throws -> ChildSource {
    try added(
      ChildSource(processID: processID, ownership: ownership, order: order, body),
      to: mode, at: CallPlace(file, line))
  }

  /// Creates a file watch and adds it to `mode`. The parameters are those of `FileWatch`.
  /// - Throws: As its initialiser, and `add(_:to:)`. - Thread: Any.
  @discardableResult
  public func fileWatch(
    path: String, events: FileWatch.Event.Kinds, limit: RateLimit? = nil, order: Int = 0, in mode: Mode = .default,
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (FileWatch, FileWatch.Event) -> Void
  ) throws -> FileWatch {
    try fileWatch(
      pathBytes: Array(path.utf8), events: events, limit: limit, order: order, in: mode, file: file, line: line, body)
  }

  /// As `fileWatch(path:events:limit:order:in:file:line:_:)`, for a path of bytes, which need not be UTF-8.
  /// - Thread: Any.
  @discardableResult
  public func fileWatch(
    pathBytes: [UInt8], events: FileWatch.Event.Kinds, limit: RateLimit? = nil, order: Int = 0,
    in mode: Mode = .default, file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (FileWatch, FileWatch.Event) -> Void
  ) throws -> FileWatch {
    try added(
      FileWatch(pathBytes, events: events, limit: limit, order: order, for: self, onlyLoop: nil, unchecked: body),
      to: mode, at: CallPlace(file, line))
  }

  /// Creates a memory pressure source and adds it to `mode`. The parameters are those of `MemoryPressure`.
  /// - Throws: As its initialiser, and `add(_:to:)`. - Thread: Any.
  @discardableResult
  public func memoryPressure(
    _ stall: MemoryPressure.Stall, longerThan time: Duration, within window: Duration,
    path: String = "/proc/pressure/memory", order: Int = 0, in mode: Mode = .default,
    file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (MemoryPressure, MemoryPressure.Event) -> Void
  ) throws -> MemoryPressure {
    try added(
      MemoryPressure(stall, longerThan: time, within: window, path: path, order: order, body),
      to: mode, at: CallPlace(file, line))
  }
}
