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
