extension RunLoop {
  /// An item that receives messages.
  ///
  /// As a member of a mode, a port keeps the mode from being empty, and a message wakes its loop. If the loop runs in
  /// another mode at that moment, the message waits and causes no pass [RLK-MSG-4]. The loop delivers one message a
  /// pass, on its thread; ports with messages take turns with each other, and with ready descriptors [RLK-MSG-3,
  /// RLK-MSG-7]. If the port is in several modes or loops, the first that runs delivers the message [RLK-MSG-6]. A
  /// nested run serves further messages while a callout is on the stack [RLK-MSG-10].
  ///
  /// When the port is invalidated or destroyed, the messages in it are discarded: their requests throw `.noReply`, and
  /// their descriptors are closed. Modes retain the port; send rights do not. When the thread of the last loop that
  /// serves it ends, the port is invalidated even if it is referenced, because its senders would wait for ever
  /// [RLK-MSG-16, RLK-MSG-50, RLK-MSG-51]. In Apple's systems: `NSPort`, `CFMachPort`.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let port = RunLoop.Port { _, message in
  ///   print("message", message.id)  // prints message 7
  ///   loop.stop()
  /// }
  /// try loop.add(port)
  /// try port.sendRight.trySend(RunLoop.Message(id: 7))
  /// try loop.run()
  /// ```
  public final class Port: Item, @unchecked Sendable {
    /// The default of how many messages may wait.
    public static let defaultQueueLimit = 1024

    package let mailbox: Mailbox
    @exclusivity(unchecked) final var body: Body
    /// The name by which other processes find the port; nil if it has none.
    public let name: String?
    /// What a named port demands of other processes. RunLoopPorts sets it, and the port's description includes it.
    package typealias Terms = AnyObject & Sendable & CustomStringConvertible

    package let namedTerms: (any Terms)?

    /// - Parameters:
    ///   - queueLimit: How many messages may wait, at least 1. A sender that finds the queue full waits.
    ///   - receive: Called on the thread of the loop that runs, with no lock held; kept while the port is valid.
    public convenience init(
      queueLimit: Int = Port.defaultQueueLimit, _ receive: @escaping @Sendable (Port, Message) -> Void
    ) {
      self.init(queueLimit: queueLimit, onlyLoop: nil, unchecked: receive)
    }

    /// Creates a port whose body answers. The loop calls the body on its thread, and sends what the body returns to the
    /// message's `reply` [RLK-MSG-20].
    ///
    /// If the message has no `reply`, or the body returns nil, the loop sends nothing; a request then throws
    /// `.noReply`. The loop does not wait for room: it drops an answer to a port that is full or gone, and counts it in
    /// `undeliveredReplies` [RLK-MSG-21]. In CFRunLoop: `perform` of a `CFRunLoopSourceContext1`, which returns the
    /// answer.
    @_disfavoredOverload  // so that a trailing closure stands for `receive`
    public convenience init(
      queueLimit: Int = Port.defaultQueueLimit, replying: @escaping @Sendable (Port, Message) -> Message?
    ) {
      self.init(queueLimit: queueLimit, onlyLoop: nil, unchecked: Port.answering(replying))
    }

    /// Creates a port with a delegate, which it does not retain. When the delegate is gone, the next message
    /// invalidates the port [RLK-MSG-19].
    public convenience init(queueLimit: Int = Port.defaultQueueLimit, delegate: any PortDelegate & Sendable) {
      self.init(queueLimit: queueLimit, onlyLoop: nil, unchecked: Port.calling(delegate))
    }

    package init(
      queueLimit: Int, name: String? = nil, terms: (any Terms)? = nil, onlyLoop: RunLoop?,
      unchecked body: @escaping (Port, Message) -> Void
    ) {
      if queueLimit < 1 { Diagnosis.hint("Port: the queue limit \(queueLimit) counts as 1") }
      mailbox = Mailbox(limit: queueLimit)
      self.name = name
      namedTerms = terms
      self.body = Body(body)
      super.init(.port, order: 0, onlyLoop: onlyLoop)
    }

    package static func answering(_ body: @escaping (Port, Message) -> Message?) -> (Port, Message) -> Void {
      { port, message in
        guard let answer = body(port, message), let reply = message.reply else { return }
        do {
          try reply.trySend(answer)
        } catch {
          port.mailbox.replyWasLost()
        }
      }
    }

    package static func calling(_ delegate: any PortDelegate) -> (Port, Message) -> Void {
      { [weak delegate] port, message in
        if let delegate { delegate.port(port, didReceive: message) } else { port.invalidate() }
      }
    }

    /// A right to send to the port. All rights to one port are equal. - Thread: Any. - Complexity: O(1).
    public var sendRight: SendRight { SendRight(mailbox) }

    /// How many messages wait for delivery. - Thread: Any; the number may change at any time.
    public var pendingCount: Int { mailbox.count }

    /// How many messages may wait for delivery.
    public var queueLimit: Int { mailbox.limit }

    /// How many answers of the port's `replying` closure were dropped, because the port they went to was full or gone.
    public var undeliveredReplies: Int { mailbox.lostReplies }

    /// Hooks that move the port's connections to other processes into the port's modes; nil without connections.
    override var hooksOfKind: Source.HeldHooks? { mailbox.transport == nil ? nil : mailbox.hooks }

    override func serve(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
      guard let message = mailbox.dequeue() else { return false }
      loop.count(.portCallouts)
      let run = loop.placeOfRun
      __RUNLOOPKIT_IS_CALLING_OUT_TO_A_PORT__(self, message)
      loop.endRuns(insideOf: run)
      return true
    }

    override func releaseBody() {
      var released = Body { _, _ in }
      swap(&body, &released)
    }

    /// Called when a loop of the port has ended. If it was the last one, the senders would wait for ever.
    func loopHasEnded() { if mailbox.places.isEmpty { invalidate() } }

    override func hasLeft() { mailbox.close() }

    deinit { mailbox.close() }

    override var words: String {
      "<port\(labelText)\(name.map { " \($0)" } ?? ""), \(pendingCount) of \(queueLimit) messages, "
        + "\(namedTerms.map { "\($0), " } ?? "")\(isValid ? "valid" : "invalid")>"
    }
  }

  /// Receives a port's messages [RLK-MSG-1]. In Foundation: `NSPortDelegate`.
  public protocol PortDelegate: AnyObject {
    /// Called for each message: on the thread of the loop that received it, with no lock held.
    func port(_ port: Port, didReceive message: Message)
  }
}
