import RunLoopKit
internal import RunLoopLibc

/// Messages of tasks that wait for room in one connection, first come, first served. The I/O thread watches a duplicate
/// of the socket, and sends the first message again when the kernel reports room. So it does not matter whether a loop
/// reads the connection.
///
/// A message with a right to a third process's port needs room in that process's connection. If there is none, the
/// message waits aside and the others go on. When there is room, it comes back at the end of the line.
final class SendLine: @unchecked Sendable {
  private typealias RoomSource = RunLoop.FileDescriptorSource

  /// A message that waits for room in a third party's connection, or for the end of its receiver.
  private struct Aside {
    let message: WaitingMessage
    let source: RoomSource
    var observation: RunLoop.Port.Observation?

    /// Call it with no lock held.
    func end() {
      source.invalidate()
      observation?.cancel()
    }
  }

  private let lock = Lock()
  /// Guarded by `lock`, like all below.
  private var places = Row<WaitingMessage>()
  private var aside: [Aside] = []
  /// True while a thread sends the messages in line. No other thread touches the first message meanwhile.
  private var isDriven = false
  /// True if room may have come since the driving thread fetched the first message.
  private var mayHaveRoom = false
  private var watch: RoomSource?

  /// How many messages and bytes the I/O thread sends in one call, before its loop serves others.
  private static let mostAtOnce = 64
  private static let mostBytesAtOnce = 1 << 20

  func send(_ message: WaitingMessage) -> SendWithdrawal {
    let isFirst = lock.withLock {
      places.append(message)
      return places.count == 1
    }
    // A message that is not the first waits for the thread that drives the line. This thread sends only its own
    // message, and leaves those that come meanwhile to the I/O thread.
    if isFirst { drive(atMost: 1) }
    return { [self] in withdraw(message) }
  }

  private func withdraw(_ message: WaitingMessage) -> Bool {
    let (isGone, wasFirst, aside) = lock.withLock { () -> (Bool, Bool, Aside?) in
      if let aside = takeAside(message) { return (true, false, aside) }
      guard !places.isEmpty else { return (false, false, nil) }
      let wasFirst = places[0] === message
      if wasFirst, isDriven {  // the thread that drives the line will remove it
        message.isCalledOff = true
        return (false, false, nil)
      }
      return (places.remove { $0 === message } != nil, wasFirst, nil)
    }
    aside?.end()
    guard isGone else { return false }
    message.giveUp()
    // There may be room for the next message. The I/O thread sends it: a thread that cancels a task does not send other
    // tasks' messages.
    if wasFirst { driveLater() }
    return true
  }

  private func driveLater() {
    if !IOThread.perform({ [self] in drive() }) { drive() }
  }

  /// Sends messages, from the first on, while there is room. Call it with no lock held.
  private func drive(atMost count: Int = mostAtOnce) {
    while begin() {
      var (left, bytes) = (count, 0)
      while left > 0, bytes < SendLine.mostBytesAtOnce {
        guard let sent = driveFirst() else { return }
        left -= 1
        bytes += sent
      }
      guard end() else { return }
      if IOThread.perform({ [self] in drive() }) { return }
    }
  }

  /// Begins to drive the line. False if another thread drives it: that thread tries again, because `mayHaveRoom` is
  /// set.
  private func begin() -> Bool {
    lock.withLock {
      mayHaveRoom = true
      guard !isDriven else { return false }
      isDriven = true
      return true
    }
  }

  /// Ends driving the line. True if messages are left.
  private func end() -> Bool {
    let (isOver, unused) = lock.withLock { (places.isEmpty, places.isEmpty ? stop() : leaveDriving()) }
    unused?.invalidate()
    return !isOver
  }

  /// Under the lock.
  private func leaveDriving() -> RoomSource? {
    isDriven = false
    return nil
  }

  /// Stops driving, because the line is empty. Returns the source that watched for room, for the caller to invalidate.
  /// Under the lock.
  private func stop() -> RoomSource? {
    places.trim()
    isDriven = false
    return watch.take()
  }

  /// Tries the first message. Returns how many bytes were sent. Nil if the line is empty or waits for room: this thread
  /// does not drive it any more.
  private func driveFirst() -> Int? {
    guard let first = nextToDrive() else { return nil }
    do {
      guard let full = try first.attempt() else {
        leave(first)
        first.whenOver(.success(()))
        return first.size
      }
      guard full === first.channel else {
        try setAside(first, until: full)
        return 0
      }
      try waitForRoom(in: full)
      return standsStill(first) ? 0 : nil
    } catch {
      leave(first)
      first.fail(error)
      return 0
    }
  }

  private func nextToDrive() -> WaitingMessage? {
    let (first, unused) = lock.withLock { () -> (WaitingMessage?, RoomSource?) in
      mayHaveRoom = false
      return places.isEmpty ? (nil, stop()) : (places[0], nil)
    }
    unused?.invalidate()
    return first
  }

  private func leave(_ first: WaitingMessage) {
    let gone = lock.withLock { places.takeFirst() }
    withExtendedLifetime(gone) {}
  }

  /// Stops driving and returns false, unless there may be room by now or the first message was withdrawn.
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

  /// Makes the I/O thread drive the line whenever there may be room in the connection, and at once if there is room
  /// already.
  private func waitForRoom(in channel: Channel) throws {
    guard watch == nil else { return }  // only the thread that drives the line changes it
    guard !channel.isBroken else { return lock.withLock { mayHaveRoom = true } }  // the next attempt throws the reason
    let source = try channel.roomSource { [weak self] in self?.drive() }
    lock.withLock { watch = source }
    do { try IOThread.add(source) } catch {
      lock.withLock { watch = nil }
      source.invalidate()
      throw error
    }
  }

  // MARK: Aside

  /// Moves the first message aside until there is room for an introduction in the connection of a third party, or that
  /// connection has ended.
  private func setAside(_ first: WaitingMessage, until thirdParty: Channel) throws {
    let comesBack: @Sendable () -> Void = { [weak self, weak first] in if let first { self?.comesBack(first) } }
    let source: RoomSource
    do { source = try thirdParty.roomSource(comesBack) } catch {
      guard thirdParty.isBroken else { throw error }
      return  // the message is still the first, and the next attempt throws the reason
    }
    let isCalledOff = lock.withLock {
      guard !first.isCalledOff else { return true }
      _ = places.takeFirst()
      aside.append(Aside(message: first, source: source))
      return false
    }
    guard !isCalledOff else {
      source.invalidate()
      throw RunLoopError.timedOut
    }
    do { try IOThread.add(source) } catch {
      guard let own = lock.withLock({ takeAside(first) }) else { return }
      own.end()
      return first.fail(error)
    }
    if thirdParty.isBroken { return comesBack() }
    observeReceiver(of: first, source, comesBack)
  }

  private func observeReceiver(
    of message: WaitingMessage, _ source: RoomSource, _ comesBack: @escaping @Sendable () -> Void
  ) {
    let observation = message.observeReceiver(comesBack)
    let isAside = lock.withLock {
      guard let index = aside.firstIndex(where: { $0.source === source }) else { return false }
      aside[index].observation = observation
      return true
    }
    if !isAside { observation.cancel() }
  }

  private func comesBack(_ message: WaitingMessage) {
    let own = lock.withLock { () -> Aside? in
      guard let own = takeAside(message) else { return nil }
      places.append(message)
      return own
    }
    guard let own else { return }
    own.end()
    drive()
  }

  /// Removes a message from those aside; nil if it is not among them. Under the lock.
  private func takeAside(_ message: WaitingMessage) -> Aside? {
    aside.firstIndex { $0.message === message }.map { aside.remove(at: $0) }
  }
}
