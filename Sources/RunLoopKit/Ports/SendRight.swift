extension RunLoop.Port {
  /// The right to send to a port. It does not keep the port alive.
  ///
  /// Rights to one port are equal [RLK-MSG-18]. A right whose port has ended is invalid.
  /// - Thread: Any, for all members.
  public struct SendRight: Sendable, Hashable, CustomStringConvertible {
    package let destination: any Destination

    package init(_ destination: any Destination) { self.destination = destination }

    /// Sends a message, and waits for room while the port is full [RLK-MSG-13].
    ///
    /// The messages that one thread sends to a port arrive in the order of sending [RLK-MSG-2]. Either the call sends
    /// all of the message or, if it throws, nothing: the caller keeps descriptors and rights [RLK-MSG-33].
    ///
    /// ```swift
    /// let loop = RunLoop.current
    /// let port = RunLoop.Port { _, message in
    ///   print(message.bytes?.count ?? 0, "bytes")  // prints 5 bytes
    ///   loop.stop()
    /// }
    /// try loop.add(port)
    /// try port.sendRight.send(RunLoop.Message(bytes: "hello"), timeout: .seconds(1))
    /// try loop.run()
    /// ```
    /// - Parameters:
    ///   - message: What is sent.
    ///   - timeout: How long the call waits for room. With zero or less, there must be room already. Nil means no
    ///     limit. The thread sleeps meanwhile, and its loop serves nothing.
    /// - Throws: A `RunLoopError`: `.portInvalid` if the receiver is gone, also while the call waits [RLK-MSG-15].
    ///   `.wouldDeadlock` if the port is full, only this thread's loop serves it, and there is no timeout [RLK-MSG-14,
    ///   RLK-MSG-47]. `.system` with `EBADF` for a descriptor that is empty. `.timedOut`; `.tooManyDescriptors`;
    ///   `.forked`. Between processes also `.messageTooLarge`, `.refused` (`RunLoopPorts`) if the receiver has refused
    ///   this process or one of its messages, and `.system` with other error numbers.
    /// - Thread: Any. - Re-entry: Allowed. - Blocks: While the port is full.
    /// - Complexity: O(components); a write(2) if it wakes a loop that sleeps [RLK-MSG-39, RLK-MSG-40]. Between
    ///   processes one sendmsg(2).
    @available(*, noasync, message: "it may block: in a task, or a main with a top-level await, await the async form")
    public func send(_ message: RunLoop.Message, timeout: Duration? = nil) throws {
      guard let timeout else { return try destination.send(message, .forever) }
      try destination.send(message, .until(Deadline(timeout)))
    }

    /// As `send(_:timeout:)`, but does not wait: a full port is an error [RLK-MSG-12].
    /// - Throws: A `RunLoopError`: `.portFull`; otherwise the errors of `send(_:timeout:)`.
    /// - Thread: Any. - Blocks: No.
    public func trySend(_ message: RunLoop.Message) throws { try destination.send(message, .none) }

    /// False once the receiver is gone or a right to answer was used, and in a child of fork(2) [RLK-MSG-38]. If it is
    /// true, it may become false at any time.
    public var isValid: Bool { destination.isValid }

    /// Calls `body` once when the port is gone, or immediately if it is gone already [RLK-MSG-17, RLK-MSG-29].
    ///
    /// - Parameter body: Called on the thread that ends the port, or that finds the other process gone, with no lock
    ///   held. Retained until that call, or until `cancel()`. It should be short: to do more, post to a loop.
    /// - Returns: An observation that can cancel the call; it need not be retained.
    /// - Thread: Any.
    /// - SeeAlso: `CFMessagePortSetInvalidationCallBack`.
    @discardableResult
    public func onInvalidation(_ body: @escaping @Sendable () -> Void) -> Observation { destination.observe(body) }

    /// True for rights to the same port. Two rights to one answer are equal if they are copies of each other.
    public static func == (a: SendRight, b: SendRight) -> Bool { a.destination === b.destination }

    /// Equal rights have equal hashes.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(destination)) }

    /// The receiver, in words.
    public var description: String { "<send right to \(destination.words)\(isValid ? "" : ", invalid")>" }
  }
}
