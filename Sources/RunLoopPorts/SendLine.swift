import RunLoopKit
internal import RunLoopLibc

/// Messages of tasks that wait for room in one connection, in the order of their coming. The first of them is tried
/// again when the kernel reports room: by the I/O thread's loop, which watches a duplicate of the socket meanwhile, so
/// that it does not matter whether a loop reads the connection.
///
/// A message with a right to a port of a third process that does not read waits aside for room there, and comes back at
/// the end of the line: the others go on.
final class SendLine: @unchecked Sendable {
  private typealias RoomSource = RunLoop.FileDescriptorSource

  /// A message that waits for room elsewhere, unless its receiver ends.
  private struct Aside {
    let message: WaitingMessage
    let source: RoomSource
    var observation: RunLoop.Port.Observation?

    /// With no lock held.
    func end() {
      source.invalidate()
      observation?.cancel()
    }
  }

  private let lock = Lock()
  /// Guarded by `lock`, like all below.
  private var places = Row<WaitingMessage>()
  private var aside: [Aside] = []
  /// A thread sends what is in line. No other one touches the first message meanwhile.
  private var isDriven = false
  /// There may be room, reported while the line was driven.
  private var mayHaveRoom = false
  private var watch: RoomSource?

  /// How much one call of the I/O thread sends before its loop serves others.
  private static let mostAtOnce = 64
  private static let mostBytesAtOnce = 1 << 20

  func send(_ message: WaitingMessage) -> SendWithdrawal {
    let isFirst = lock.withLock {
      places.append(message)
      return places.count == 1
    }
    // Else who drives the line, or is woken to drive it, comes to it. Those that come meanwhile are the I/O thread's.
    if isFirst { drive(atMost: 1) }
    return { [self] in withdraw(message) }
  }

  private func withdraw(_ message: WaitingMessage) -> Bool {
    let (isGone, wasFirst, aside) = lock.withLock { () -> (Bool, Bool, Aside?) in
      if let aside = takeAside(message) { return (true, false, aside) }
      guard !places.isEmpty else { return (false, false, nil) }
      let wasFirst = places[0] === message
      if wasFirst, isDriven {  // who drives the line ends it
        message.isCalledOff = true
        return (false, false, nil)
      }
      return (places.remove { $0 === message } != nil, wasFirst, nil)
    }
    aside?.end()
    guard isGone else { return false }
    message.giveUp()
    // The next one may wait for something else. Not here: what cancels a task does not send others' messages.
    if wasFirst { driveLater() }
    return true
  }

  private func driveLater() {
    if !IOThread.perform({ [self] in drive() }) { drive() }
  }

  /// Sends what there is room for, from the first on. With no lock held.
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

  /// False if another thread drives the line: it looks again.
  private func begin() -> Bool {
    lock.withLock {
      mayHaveRoom = true
      guard !isDriven else { return false }
      isDriven = true
      return true
    }
  }

  /// True if some are left.
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

  /// Under the lock: nothing is left to send. What is not needed any more.
  private func stop() -> RoomSource? {
    places.trim()
    isDriven = false
    return watch.take()
  }

  /// Nil if nothing is left to do: the line is not driven any more. Else how many bytes were sent.
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

  /// The I/O thread's loop drives the line at each change of the connection from now on, and once if there is room
  /// already.
  private func waitForRoom(in channel: Channel) throws {
    guard watch == nil else { return }  // only who drives the line changes it
    guard !channel.isBroken else { return lock.withLock { mayHaveRoom = true } }  // the next attempt finds out
    let source = try channel.roomSource { [weak self] in self?.drive() }
    lock.withLock { watch = source }
    do { try IOThread.add(source) } catch {
      lock.withLock { watch = nil }
      source.invalidate()
      throw error
    }
  }

  // MARK: Aside

  /// Until there is room in the connection to a third process, to introduce the receiver there, or that is gone.
  private func setAside(_ first: WaitingMessage, until thirdParty: Channel) throws {
    let comesBack: @Sendable () -> Void = { [weak self, weak first] in if let first { self?.comesBack(first) } }
    let source: RoomSource
    do { source = try thirdParty.roomSource(comesBack) } catch {
      guard thirdParty.isBroken else { throw error }
      return  // still the first: the next attempt finds out
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

  /// Under the lock. Nil if it is not there.
  private func takeAside(_ message: WaitingMessage) -> Aside? {
    aside.firstIndex { $0.message === message }.map { aside.remove(at: $0) }
  }
}
