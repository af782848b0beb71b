import RunLoopKit
internal import Synchronization

/// A port of another process, as that process has exported it on a connection.
final class RemotePort: Destination, @unchecked Sendable {
  let channel: Channel
  let number: UInt64
  let invalidation = Invalidation()
  /// How often it has come; guarded by the channel's table.
  var count: UInt32
  /// What the peer must know when this object goes has been said.
  private let isForgotten = Atomic<Bool>(false)

  init(_ channel: Channel, number: UInt64, count: UInt32) {
    self.channel = channel
    self.number = number
    self.count = count
  }

  func send(_ message: RunLoop.Message, _ patience: Patience) throws(RunLoopError) {
    guard !invalidation.isOver else { throw channel.failure }
    try channel.send(message, to: number, invalidation, patience)
  }

  func send(_ message: RunLoop.Message, whenOver: @escaping SendEnd) throws(RunLoopError) -> SendWithdrawal? {
    guard !channel.isForked else { throw .forked }
    guard !invalidation.isOver else { throw channel.failure }
    return channel.line.send(WaitingMessage(message, to: number, invalidation, on: channel, whenOver))
  }

  var isValid: Bool {
    guard !channel.isForked, !invalidation.isOver else { return false }
    channel.lookIfUnserved()
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

/// The right to give one answer to a request of another process.
final class RemoteReply: Destination, @unchecked Sendable {
  let channel: Channel
  let number: UInt64
  /// Used, or about to be.
  private let isUsed = Atomic<Bool>(false)
  private let invalidation = Invalidation()

  init(_ channel: Channel, number: UInt64) {
    self.channel = channel
    self.number = number
  }

  /// True once; `giveBack` if it was for nothing.
  func use() -> Bool { !isUsed.exchange(true, ordering: .acquiringAndReleasing) }

  func giveBack() { isUsed.store(false, ordering: .releasing) }

  /// It was used, here or by the process that it was sent on to.
  func wasUsed() {
    channel.answerHasGone(number)
    invalidation.invalidate()
  }

  func channelHasEnded() { invalidation.invalidate() }

  func send(_ message: RunLoop.Message, _ patience: Patience) throws(RunLoopError) {
    guard !channel.isForked else { throw .forked }
    guard !invalidation.isOver else { throw channel.failure }  // used, or not awaited any more
    guard use() else { throw .portInvalid }
    var message = message
    if message.reply?.destination === self { message.reply = nil }  // a message that is sent back as it came
    do throws(RunLoopError) {
      try channel.send(message, to: number, invalidation, patience)
    } catch {
      giveBack()
      throw error
    }
    wasUsed()
  }

  func send(_ message: RunLoop.Message, whenOver: @escaping SendEnd) throws(RunLoopError) -> SendWithdrawal? {
    guard !channel.isForked else { throw .forked }
    guard !invalidation.isOver else { throw channel.failure }
    guard use() else { throw .portInvalid }
    var message = message
    if message.reply?.destination === self { message.reply = nil }
    let waiting = WaitingMessage(message, to: number, invalidation, on: channel) { [self] result in
      if case .success = result { wasUsed() } else { giveBack() }
      whenOver(result)
    }
    let withdrawal = channel.line.send(waiting)
    return { [self] in
      guard withdrawal() else { return false }
      giveBack()
      return true
    }
  }

  var isValid: Bool {
    !channel.isForked && !isUsed.load(ordering: .acquiring) && !channel.isBroken && !invalidation.isOver
  }

  func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation {
    let observation = invalidation.observe(body)
    if channel.isBroken { invalidation.invalidate() }
    return observation
  }

  var words: String { "an answer to \(channel.words)" }

  deinit {
    if !isUsed.load(ordering: .acquiring) { channel.answerWasDropped(number) }
  }
}
