import RunLoopKit
internal import Synchronization

/// The right to answer one request of another process.
final class RemoteReply: Destination, @unchecked Sendable {
  /// The right's connection, and its number there. Only the thread that has called `use` changes it, under the lock;
  /// that thread reads it without the lock.
  private var place: (channel: Channel, number: UInt64)
  /// True if the program observes the right's end, so that a loop must read the connection. Guarded by `lock`.
  private var isObserved = false
  /// Guards changes of `place`, and its reads by threads that have not called `use`.
  private let lock = Lock()
  /// True from `use` on, until `giveBack`.
  private let isUsed = Atomic<Bool>(false)
  private let invalidation = Invalidation()

  init(_ channel: Channel, number: UInt64) { place = (channel, number) }

  /// The connection. Only for a caller that has called `use`.
  var channel: Channel { place.channel }
  /// The number on the connection. Only for a caller that has called `use`.
  var number: UInt64 { place.number }

  /// Claims the right for a send: true for one caller only. If the send fails, that caller calls `giveBack`.
  func use() -> Bool { !isUsed.exchange(true, ordering: .acquiringAndReleasing) }

  func giveBack() { isUsed.store(false, ordering: .releasing) }

  /// Called when the answer was sent, or the right was sent on to another process.
  func wasUsed() {
    channel.answerHasGone(number)
    invalidation.invalidate()
  }

  /// Called when this process has sent the process that awaits the answer its end of a new connection. After that the
  /// right survives the old connection.
  func hasMoved() { channel.answerHasMoved(number) }

  /// Called if the message with the right was not sent: this process keeps the receiver's end of the introduction as
  /// the right's connection. The right becomes invalid if memory is short, or if the peer has reached its limit of
  /// connections.
  func comesBack(on end: Int32) {
    let first = place
    guard !first.channel.isForked else { return giveBack() }  // this child of fork(2) has closed the end
    guard let own = first.channel.adopt(end) else { return wasUsed() }
    own.importing.withLock { own.imports.insert(self, as: 0) }
    let isObserved = lock.withLock {
      place = (own, 0)
      return self.isObserved
    }
    own.serve(as: first.channel)
    if isObserved { own.watch() }
    first.channel.answerHasGone(first.number)
    giveBack()
    if own.isBroken { invalidation.invalidate() }
  }

  func channelHasEnded() { invalidation.invalidate() }

  /// Claims the right; throws if it cannot be used.
  private func begin() throws(RunLoopError) {
    let channel = lock.withLock { place.channel }
    guard !channel.isForked else { throw .forked }
    guard !invalidation.isOver else { throw channel.failure }  // the right was used, or the answer is not awaited
    guard use() else { throw .portInvalid }
  }

  func send(_ message: RunLoop.Message, _ timeout: SendTimeout) throws(RunLoopError) {
    try begin()
    do throws(RunLoopError) {
      try channel.send(withoutItself(message), to: number, invalidation, timeout)
    } catch {
      giveBack()
      throw error
    }
    wasUsed()
  }

  func send(_ message: RunLoop.Message, whenOver: @escaping SendEnd) throws(RunLoopError) -> SendWithdrawal? {
    try begin()
    let waiting = WaitingMessage(withoutItself(message), to: number, invalidation, on: channel) { [self] result in
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

  /// Removes the right itself from a message, such as one that is sent back as it came.
  private func withoutItself(_ message: RunLoop.Message) -> RunLoop.Message {
    guard message.reply?.destination === self else { return message }
    var message = message
    message.reply = nil
    return message
  }

  var isValid: Bool {
    guard !isUsed.load(ordering: .acquiring), !invalidation.isOver else { return false }
    let channel = lock.withLock { place.channel }
    guard !channel.isForked else { return false }
    channel.pollIfUnserved()
    return !channel.isBroken && !invalidation.isOver
  }

  func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation {
    let observation = invalidation.observe(body)
    guard !invalidation.isOver else { return observation }
    let channel = lock.withLock {
      isObserved = true
      return place.channel
    }
    if !channel.isBroken {
      channel.watch()
    } else if lock.withLock({ place.channel === channel && !isUsed.load(ordering: .acquiring) }) {
      invalidation.invalidate()  // not for a used right, which may be on another connection
    }
    return observation
  }

  var words: String { "an answer to \(lock.withLock { place.channel }.words)" }

  deinit {
    if !isUsed.load(ordering: .acquiring) { channel.answerWasDropped(number) }
  }
}
