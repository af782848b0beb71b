extension RunLoop {
  /// What `messages(queueLimit:in:)` makes: the messages of a port.
  public typealias MessageSequence = EventSequence<Message>

  /// Creates a port, whose messages are a sequence for tasks.
  ///
  /// The port is in the mode only while a task waits. While the task is busy, senders wait as soon as `queueLimit`
  /// messages are in the port.
  ///
  /// The sequence ends when the last copy of the right is released, here and in other processes, and the messages that
  /// waited have been delivered [RLK-STREAM-10]. A process that has received the right on a connection that it has
  /// accepted may keep it until the connection ends.
  /// - Parameters:
  ///   - queueLimit: How many messages may wait, at least 1. A sender that finds the queue full waits.
  ///   - mode: The loop delivers messages only while it runs in this mode.
  /// - Returns: The right to send to the port, and the sequence. The port becomes invalid when the sequence is released
  ///   or has ended.
  /// - Thread: Any. - Complexity: O(1).
  public func messages(
    queueLimit: Int = Port.defaultQueueLimit, in mode: Mode = .default
  ) -> (right: Port.SendRight, messages: EventSequence<Message>) {
    var right: Port.SendRight?
    let messages = EventSequence<Message>(of: self, in: mode) { feed in
      let turn = feed.makeTurn()
      let end = SendersEnd()
      let port = Port(queueLimit: queueLimit) { port, message in
        if end.isMessage(message) { turn.finish() } else { turn.deliver(message, isLast: end.hasCome(behind: port)) }
        if turn.isFinished { port.invalidate() }
      }
      feed.append(port)
      right = Port.SendRight(SequenceRight(to: port.mailbox, end))
    }
    return (right.unsafelyUnwrapped, messages)  // the closure above has set it
  }
}
