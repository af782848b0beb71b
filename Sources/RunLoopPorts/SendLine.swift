import RunLoopKit
internal import RunLoopLibc

/// Messages of tasks that wait for room in one connection, in the order of their coming. The first of them is tried
/// again when the kernel reports room: by the keeper's loop, which watches a duplicate of the socket meanwhile, so that
/// it does not matter whether a loop reads the connection.
final class SendLine: @unchecked Sendable {
  private let lock = Lock()
  /// Guarded by `lock`, like all below.
  private var places = Row<WaitingMessage>()
  /// A thread sends what is in line. No other one touches the first message meanwhile.
  private var isDriven = false
  /// There may be room, reported while the line was driven.
  private var mayHaveRoom = false
  private var watch: (source: RunLoop.FileDescriptorSource, channel: Channel)?

  /// How many messages one call of `drive` sends before the keeper goes on.
  private static let mostAtOnce = 64

  func send(_ message: WaitingMessage) -> SendWithdrawal {
    let isFirst = lock.withLock {
      places.append(message)
      return places.count == 1
    }
    // Else who drives the line, or is woken to drive it, comes to it.
    if isFirst { drive() }
    return { [self] in withdraw(message) }
  }

  private func withdraw(_ message: WaitingMessage) -> Bool {
    let (isGone, wasFirst) = lock.withLock {
      guard !places.isEmpty else { return (false, false) }
      let wasFirst = places[0] === message
      if wasFirst, isDriven {  // who drives the line ends it
        message.isCalledOff = true
        return (false, false)
      }
      return (places.remove { $0 === message } != nil, wasFirst)
    }
    guard isGone else { return false }
    message.giveUp()
    // The next one may wait for something else. Not here: what cancels a task does not send others' messages.
    if wasFirst { driveLater() }
    return true
  }

  private func driveLater() {
    if !Keeper.perform({ [self] in drive() }) { drive() }
  }

  /// Sends what there is room for, from the first on. With no lock held.
  private func drive() {
    while begin() {
      for _ in 0..<SendLine.mostAtOnce { if !driveFirst() { return } }
      lock.withLock { isDriven = false }
      if Keeper.perform({ [self] in drive() }) { return }
    }
  }

  /// False if another thread drives the line: it looks again.
  private func begin() -> Bool {
    lock.withLock {
      mayHaveRoom = true
      guard !isDriven else { return false }
      isDriven = true
      return true
    }
  }

  /// False if nothing is left to do: the line is not driven any more.
  private func driveFirst() -> Bool {
    guard let first = nextToDrive() else { return false }
    do {
      if let full = try first.attempt() {
        try waitForRoom(in: full)
        return standsStill(first)
      }
      leave(first)
      first.whenOver(.success(()))
    } catch {
      leave(first)
      first.fail(error)
    }
    return true
  }

  private func nextToDrive() -> WaitingMessage? {
    let (first, unused) = lock.withLock { () -> (WaitingMessage?, RunLoop.FileDescriptorSource?) in
      mayHaveRoom = false
      guard places.isEmpty else { return (places[0], nil) }
      places.trim()
      isDriven = false
      defer { watch = nil }
      return (nil, watch?.source)
    }
    unused?.invalidate()
    return first
  }

  private func leave(_ first: WaitingMessage) {
    let gone = lock.withLock { places.takeFirst() }
    withExtendedLifetime(gone) {}
  }

  /// False if the line waits; true if there may be room by now, or the first one was called off.
  private func standsStill(_ first: WaitingMessage) -> Bool {
    let isCalledOff = lock.withLock { () -> Bool? in
      if first.isCalledOff { return true }
      if mayHaveRoom { return false }
      isDriven = false
      return nil
    }
    guard let isCalledOff else { return false }
    if isCalledOff {
      leave(first)
      first.fail(RunLoopError.timedOut)
    }
    return true
  }

  /// The keeper's loop drives the line at each change of the connection from now on, and once if there is room already.
  private func waitForRoom(in channel: Channel) throws {
    // Only who drives the line changes it.
    if let watch, watch.channel === channel { return }
    guard !channel.isBroken else { return lock.withLock { mayHaveRoom = true } }  // the next attempt finds out
    let source = try channel.roomSource { [weak self] in self?.drive() }
    let old = lock.withLock { () -> RunLoop.FileDescriptorSource? in
      defer { watch = (source, channel) }
      return watch?.source
    }
    old?.invalidate()
    do { try Keeper.add(source) } catch {
      lock.withLock { watch = nil }
      source.invalidate()
      throw error
    }
  }
}

/// A message of a task on its way to another process: made when it is its turn, and kept until it has gone, since what
/// its rights have brought about cannot be repeated.
final class WaitingMessage: @unchecked Sendable {
  private let channel: Channel
  private let number: UInt64
  let whenOver: SendEnd
  /// Guarded by the line's lock.
  var isCalledOff = false
  // That of who drives the line, or has taken it out:
  /// Until the frame is made.
  private var message: RunLoop.Message?
  private var frame: OutgoingMessage?
  private var hasMovedDescriptors = false

  init(_ message: RunLoop.Message, to number: UInt64, on channel: Channel, _ whenOver: @escaping SendEnd) {
    self.message = message
    self.number = number
    self.channel = channel
    self.whenOver = whenOver
  }

  /// Nil if it has gone; else the connection in which it needs room.
  func attempt() throws(RunLoopError) -> Channel? {
    guard !channel.isForked else { throw .forked }
    guard !channel.isBroken, channel.socket.hold() else { throw channel.failure }
    defer { channel.socket.release() }
    if let message {
      do throws(RunLoopError) {
        self.frame = try OutgoingMessage(try Parcel(message), to: number, on: channel, .none)
      } catch {
        guard error == .portFull else { throw error }
        return channel
      }
      self.message = nil
    }
    guard var frame = self.frame.take() else { throw .portInvalid }
    let full: Channel?
    do throws(RunLoopError) {
      full = try channel.advance(&frame, &hasMovedDescriptors)
    } catch {
      self.frame = consume frame
      throw error
    }
    if let full {
      self.frame = consume frame
      return full
    }
    frame.hasGone()
    frame.close()
    return nil
  }

  /// The task goes on with all that was in the message; the right to answer goes after it was told why.
  func fail(_ error: any Error) {
    takeBack()
    whenOver(.failure(error))
    release()
  }

  /// It is not sent, and nobody is told.
  func giveUp() {
    takeBack()
    release()
  }

  private func takeBack() {
    guard let frame = self.frame.take() else { return }
    frame.parcel.returnDescriptors()
    frame.takeBack()
    frame.close()
    self.frame = consume frame
  }

  private func release() {
    message = nil
    frame = nil
  }
}
