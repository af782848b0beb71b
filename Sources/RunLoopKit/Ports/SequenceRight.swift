internal import Synchronization

/// The destination of rights to a sequence's port, in place of the port's mailbox. When the last right is released, in
/// this process and in others, no more messages can come. The sequence then ends after the messages in the queue.
final class SequenceRight: Destination {
  private let port: Mailbox
  private let end: SendersEnd

  init(to port: Mailbox, _ end: SendersEnd) {
    self.port = port
    self.end = end
  }

  var mailbox: Mailbox? { port }
  var isValid: Bool { port.isValid }

  func send(_ message: RunLoop.Message, _ timeout: SendTimeout) throws(RunLoopError) { try port.send(message, timeout) }

  func send(_ message: RunLoop.Message, whenOver: @escaping SendEnd) throws(RunLoopError) -> SendWithdrawal? {
    try port.send(message, whenOver: whenOver)
  }

  func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation { port.observe(body) }

  deinit { end.come(to: port) }
}

/// Reports that a port has no senders any more. It sends a marked message behind all others, so that none is lost and a
/// sleeping loop wakes. If the queue has no room for that message, the port's callout checks `hasCome` after each
/// message instead.
final class SendersEnd: Destination {
  private let hasCome = Atomic<Bool>(false)

  fileprivate func come(to port: Mailbox) {
    guard port.isValid else { return }
    hasCome.store(true, ordering: .sequentiallyConsistent)
    var last = RunLoop.Message()
    last.reply = RunLoop.Port.SendRight(self)
    _ = port.accept(last)
  }

  /// True for the message that only marks the end.
  func isMessage(_ message: RunLoop.Message) -> Bool { message.reply?.destination === self }

  /// True if no message can follow the one that the port delivers. Call it in the port's callout.
  func hasCome(behind port: RunLoop.Port) -> Bool {
    hasCome.load(ordering: .sequentiallyConsistent) && port.pendingCount == 0
  }

  // Never valid, because this destination receives nothing: it only marks a message.
  var isValid: Bool { false }
  func send(_ message: RunLoop.Message, _ timeout: SendTimeout) throws(RunLoopError) { throw .portInvalid }
  func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation { Invalidation().observe(body) }
}
