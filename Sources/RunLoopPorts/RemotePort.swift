import RunLoopKit
internal import Synchronization

/// A port of another process, as that process has exported it on a connection.
final class RemotePort: Destination, @unchecked Sendable {
  let channel: Channel
  let number: UInt64
  let invalidation = Invalidation()
  /// How often the peer has sent the right. Guarded by the channel's `importing`.
  var count: UInt32
  /// True if the deinit must not notify the peer.
  private let isForgotten = Atomic<Bool>(false)

  init(_ channel: Channel, number: UInt64, count: UInt32) {
    self.channel = channel
    self.number = number
    self.count = count
  }

  func send(_ message: RunLoop.Message, _ timeout: SendTimeout) throws(RunLoopError) {
    guard !invalidation.isOver else { throw channel.failure }
    try channel.send(message, to: number, invalidation, timeout)
  }

  func send(_ message: RunLoop.Message, whenOver: @escaping SendEnd) throws(RunLoopError) -> SendWithdrawal? {
    guard !channel.isForked else { throw .forked }  // the connection's line belongs to the parent
    guard !invalidation.isOver else { throw channel.failure }
    return channel.line.send(WaitingMessage(message, to: number, invalidation, on: channel, whenOver))
  }

  var isValid: Bool {
    guard !channel.isForked, !invalidation.isOver else { return false }
    channel.pollIfUnserved()
    return !invalidation.isOver
  }

  func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation {
    let observation = invalidation.observe(body)
    if !invalidation.isOver { channel.watch() }
    return observation
  }

  var words: String { "port \(number) of \(channel.words)" }

  func forget() { isForgotten.store(true, ordering: .releasing) }

  deinit {
    if !isForgotten.load(ordering: .acquiring) { channel.rightHasGone(number, count, ObjectIdentifier(self)) }
  }
}
