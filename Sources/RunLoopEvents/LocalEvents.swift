import RunLoopKit

extension RunLoop.Local {
  /// A signal source that is added to `mode`. - Throws: As its initialiser and `add(_:to:)`.
  @discardableResult
  public func signals(
    _ signals: RunLoop.Signal..., order: Int = 0, in mode: RunLoop.Mode = .default,
    _ body: @escaping (RunLoop.SignalSource, RunLoop.SignalInfo) -> Void
  ) throws(RunLoopError) -> RunLoop.SignalSource {
    try added(RunLoop.SignalSource(Set(signals), limit: nil, order: order, onlyHost: loop, unchecked: body), to: mode)
  }

  /// A child source that is added to `mode`. - Throws: As its initialiser and `add(_:to:)`.
  @discardableResult
  public func child(
    _ processID: Int32, order: Int = 0, in mode: RunLoop.Mode = .default,
    _ body: @escaping (RunLoop.ChildSource, RunLoop.ExitStatus) -> Void
  ) throws(RunLoopError) -> RunLoop.ChildSource {
    try added(RunLoop.ChildSource(processID: processID, order: order, onlyHost: loop, unchecked: body), to: mode)
  }

  /// A file watch that is added to `mode`. - Throws: As its initialiser and `add(_:to:)`.
  @discardableResult
  public func fileWatch(
    path: String, events: RunLoop.FileWatch.Events, order: Int = 0, in mode: RunLoop.Mode = .default,
    _ body: @escaping (RunLoop.FileWatch, RunLoop.FileWatch.Event) -> Void
  ) throws(RunLoopError) -> RunLoop.FileWatch {
    try added(
      RunLoop.FileWatch(path: path, events: events, limit: nil, order: order, onlyHost: loop, unchecked: body), to: mode
    )
  }

  /// A memory pressure source that is added to `mode`. - Throws: As its initialiser and `add(_:to:)`.
  @discardableResult
  public func memoryPressure(
    _ stall: RunLoop.MemoryPressure.Stall, longerThan time: Duration, within window: Duration,
    path: String = "/proc/pressure/memory", order: Int = 0, in mode: RunLoop.Mode = .default,
    _ body: @escaping (RunLoop.MemoryPressure, RunLoop.MemoryPressure.Event) -> Void
  ) throws(RunLoopError) -> RunLoop.MemoryPressure {
    try added(
      RunLoop.MemoryPressure(stall, time, window, path: path, order: order, onlyHost: loop, unchecked: body), to: mode)
  }

  private func added<Source: RunLoop.EventSource>(
    _ source: Source, to mode: RunLoop.Mode
  ) throws(RunLoopError) -> Source {
    try loop.add(source, to: mode)
    return source
  }
}
