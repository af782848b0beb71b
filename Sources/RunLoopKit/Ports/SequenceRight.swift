internal import Synchronization

/// What the rights to the port of a sequence name, in the place of its mailbox: when the last of them is gone, in this
/// process and in others, no message can come any more, and the sequence ends behind those that wait.
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

/// That a port has no sender any more. It comes as a message behind all others: so none of them is lost, and a loop
/// that sleeps wakes. If there is no room for that message, those that wait see the mark.
final class SendersEnd: Destination {
  private let hasCome = Atomic<Bool>(false)

  fileprivate func come(to port: Mailbox) {
    guard port.isValid else { return }
    hasCome.store(true, ordering: .sequentiallyConsistent)
    var last = RunLoop.Message()
    last.reply = RunLoop.Port.SendRight(self)
    _ = port.accept(last)
  }

  /// True if the message is none.
  func isMessage(_ message: RunLoop.Message) -> Bool { message.reply?.destination === self }

  /// In the port's callout: nothing is left to deliver.
  func hasCome(behind port: RunLoop.Port) -> Bool {
    hasCome.load(ordering: .sequentiallyConsistent) && port.pendingCount == 0
  }

  // Nobody sends to it.
  var isValid: Bool { false }
  func send(_ message: RunLoop.Message, _ timeout: SendTimeout) throws(RunLoopError) { throw .portInvalid }
  func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation { Invalidation().observe(body) }
}
