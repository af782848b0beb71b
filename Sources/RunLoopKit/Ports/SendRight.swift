extension RunLoop.Port {
  /// The right to send to a port: names it, and does not keep it. A value of one reference.
  ///
  /// Rights to one port are equal. A right that outlives its port says so.
  /// - Thread: Any, for all members.
  public struct SendRight: Sendable, Hashable, CustomStringConvertible {
    package let destination: any Destination

    package init(_ destination: any Destination) { self.destination = destination }

    /// Sends, and waits for room as long as the port is full.
    ///
    /// What one thread sends to a port arrives in the order of sending. All of the message is sent, or, if this throws,
    /// nothing: descriptors and rights are the caller's still.
    /// - Parameters:
    ///   - message: What is sent.
    ///   - deadline: Until when to wait for room; nil: as long as it takes. The thread sleeps meanwhile; its loop serves
    ///     nothing.
    /// - Throws: `.portInvalid` if the receiver is gone, also while it waits; `.timedOut`; `.wouldDeadlock` if the port is full,
    ///   is served by this thread's loop alone, and there is no deadline; `.tooManyDescriptors`; `.systemCall` with `EBADF` for a
    ///   descriptor that is empty; `.forked`. Between processes also `.messageTooLarge` and other `.systemCall`.
    /// - Thread: Any. - Re-entry: Allowed. - Blocks: While the port is full.
    /// - Complexity: O(components); a write(2) if it wakes a loop that sleeps. Between processes one sendmsg(2).
    public func send(_ message: RunLoop.Message, before deadline: RunLoop.Instant? = nil) throws(RunLoopError) {
      try destination.send(message, deadline.map { .until(Deadline($0)) } ?? .forever)
    }

    /// As `send`, but does not wait: a full port is an error.
    /// - Throws: `.portFull`; else as `send(_:before:)`. - Thread: Any. - Blocks: No.
    public func trySend(_ message: RunLoop.Message) throws(RunLoopError) { try destination.send(message, .none) }

    /// False once the receiver is gone, a right to answer was used, and in a child of fork(2). True may be over at once.
    public var isValid: Bool { destination.isValid }

    /// Calls `body` once when the port is gone: at once if it is already.
    ///
    /// - Parameter body: Called on the thread that ends the port (or finds the other process gone), with no lock held; kept
    ///   until then, or until it is called off. It should be short: to do more, post to a loop.
    /// - Returns: The way to call it off; need not be kept. - Thread: Any. - SeeAlso: `CFMessagePortSetInvalidationCallBack`.
    @discardableResult
    public func onInvalidation(_ body: @escaping @Sendable () -> Void) -> Observation { destination.observe(body) }

    /// The same port. Two rights to one answer are equal if they are copies of each other.
    public static func == (a: SendRight, b: SendRight) -> Bool { a.destination === b.destination }

    /// In accordance with equality.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(destination)) }

    /// What it names.
    public var description: String { "<send right to \(destination.words)\(isValid ? "" : ", invalid")>" }
  }
}

/// What a send right names: one object for each thing that can be sent to, so that rights are equal by identity.
///
/// A mailbox, the answer to a request, or a port of another process.
package protocol Destination: AnyObject, Sendable {
  /// All or nothing. With no lock held.
  func send(_ message: RunLoop.Message, _ patience: Patience) throws(RunLoopError)
  var isValid: Bool { get }
  func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation
  /// For descriptions.
  var words: String { get }
}

extension Destination {
  package var words: String { "a port" }
}

/// How long a send may wait for room.
package enum Patience {
  case none
  case until(Deadline)
  case forever
}

extension Deadline {
  /// The same distance from now.
  init(_ moment: RunLoop.Instant) {
    self.init(moment == .distantFuture ? nil : RunLoop.Instant.now.duration(to: moment))
  }
}
