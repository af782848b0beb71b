import RunLoopKit

extension RunLoop.Local {
  /// Creates a port that other processes find by its name, and adds it to `mode`.
  /// - Parameters:
  ///   - name: As for `Port(registeredAs:queueLimit:accepting:maximumPayload:onRefusal:_:)`, which also explains the
  ///     other parameters but `mode`.
  ///   - queueLimit: How many messages may wait.
  ///   - policy: Who may connect.
  ///   - maximumPayload: The most bytes of one message.
  ///   - onRefusal: Called for each connection and message that is refused, on the thread that refuses it.
  ///   - mode: `.common` stands for all common modes.
  ///   - receive: Called on this thread for each message.
  /// - Throws: What that initialiser and `add(_:to:)` throw. If `add(_:to:)` fails, the name is free again.
  @discardableResult
  public func port(
    registeredAs name: String, queueLimit: Int = RunLoop.Port.defaultQueueLimit,
    accepting policy: RunLoop.PeerPolicy = .sameUser, maximumPayload: Int = RunLoop.Port.defaultMaximumPayload,
    onRefusal: (@Sendable (RunLoop.Refusal) -> Void)? = nil, in mode: RunLoop.Mode = .default,
    _ receive: @escaping (RunLoop.Port, RunLoop.Message) -> Void
  ) throws -> RunLoop.Port {
    let terms = PortTerms(policy, maximumPayload: maximumPayload, onRefusal: onRefusal)
    return try added(RunLoop.Port(name, queueLimit, terms, onlyLoop: loop, unchecked: receive), to: mode)
  }

  /// As `port(registeredAs:queueLimit:accepting:maximumPayload:onRefusal:in:_:)`, with a closure that returns the
  /// answer.
  @_disfavoredOverload  // a trailing closure is taken as `receive`
  @discardableResult
  public func port(
    registeredAs name: String, queueLimit: Int = RunLoop.Port.defaultQueueLimit,
    accepting policy: RunLoop.PeerPolicy = .sameUser, maximumPayload: Int = RunLoop.Port.defaultMaximumPayload,
    onRefusal: (@Sendable (RunLoop.Refusal) -> Void)? = nil, in mode: RunLoop.Mode = .default,
    replying: @escaping (RunLoop.Port, RunLoop.Message) -> RunLoop.Message?
  ) throws -> RunLoop.Port {
    try port(
      registeredAs: name, queueLimit: queueLimit, accepting: policy, maximumPayload: maximumPayload,
      onRefusal: onRefusal, in: mode, RunLoop.Port.answering(replying))
  }

  /// As `port(registeredAs:queueLimit:accepting:maximumPayload:onRefusal:in:_:)`, with a delegate, which the port does
  /// not retain.
  @discardableResult
  public func port(
    registeredAs name: String, queueLimit: Int = RunLoop.Port.defaultQueueLimit,
    accepting policy: RunLoop.PeerPolicy = .sameUser, maximumPayload: Int = RunLoop.Port.defaultMaximumPayload,
    onRefusal: (@Sendable (RunLoop.Refusal) -> Void)? = nil, in mode: RunLoop.Mode = .default,
    delegate: any RunLoop.PortDelegate
  ) throws -> RunLoop.Port {
    try port(
      registeredAs: name, queueLimit: queueLimit, accepting: policy, maximumPayload: maximumPayload,
      onRefusal: onRefusal, in: mode, RunLoop.Port.calling(delegate))
  }
}
