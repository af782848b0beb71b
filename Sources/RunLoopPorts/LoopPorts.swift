import RunLoopKit

extension RunLoop {
  /// Creates a port that other processes find by its name, and adds it to `mode`. The parameters are those of
  /// `Port(registeredAs:queueLimit:accepting:maximumPayload:onRefusal:_:)`.
  /// - Throws: What that initialiser and `add(_:to:)` throw. If `add(_:to:)` fails, the name is free again.
  /// - Thread: Any.
  @discardableResult
  public func port(
    registeredAs name: String, queueLimit: Int = Port.defaultQueueLimit, accepting policy: PeerPolicy = .sameUser,
    maximumPayload: Int = Port.defaultMaximumPayload, onRefusal: (@Sendable (Refusal) -> Void)? = nil,
    in mode: Mode = .default, file: StaticString = #fileID, line: UInt = #line,
    _ receive: @escaping @Sendable (Port, Message) -> Void
  ) throws -> Port {
    let terms = PortTerms(policy, maximumPayload: maximumPayload, onRefusal: onRefusal)
    return try added(
      Port(name, queueLimit, terms, onlyLoop: nil, unchecked: receive), to: mode, at: CallPlace(file, line))
  }

  /// As the function with a closure that only receives, with a closure that returns the answer. - Thread: Any.
  @_disfavoredOverload  // a trailing closure is taken as `receive`
  @discardableResult
  public func port(
    registeredAs name: String, queueLimit: Int = Port.defaultQueueLimit, accepting policy: PeerPolicy = .sameUser,
    maximumPayload: Int = Port.defaultMaximumPayload, onRefusal: (@Sendable (Refusal) -> Void)? = nil,
    in mode: Mode = .default, file: StaticString = #fileID, line: UInt = #line,
    replying: @escaping @Sendable (Port, Message) -> Message?
  ) throws -> Port {
    let terms = PortTerms(policy, maximumPayload: maximumPayload, onRefusal: onRefusal)
    return try added(
      Port(name, queueLimit, terms, onlyLoop: nil, unchecked: Port.answering(replying)),
      to: mode, at: CallPlace(file, line))
  }

  /// As the function with a closure that receives, with a delegate, which the port does not retain. - Thread: Any.
  @discardableResult
  public func port(
    registeredAs name: String, queueLimit: Int = Port.defaultQueueLimit, accepting policy: PeerPolicy = .sameUser,
    maximumPayload: Int = Port.defaultMaximumPayload, onRefusal: (@Sendable (Refusal) -> Void)? = nil,
    in mode: Mode = .default, delegate: any PortDelegate & Sendable, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Port {
    let terms = PortTerms(policy, maximumPayload: maximumPayload, onRefusal: onRefusal)
    return try added(
      Port(name, queueLimit, terms, onlyLoop: nil, unchecked: Port.calling(delegate)),
      to: mode, at: CallPlace(file, line))
  }
}
