internal import Synchronization

/// Ports with messages, as step (i) of the pass sees them.
///
/// The mark in the mode is the truth that a wait respects; the kick of the wakeup word only makes the loop look. So a kick
/// that a pass drops loses nothing, and is never owed to an enclosing run.
extension RunLoop {
  /// A message has come into an empty mailbox. Any thread, with no lock held.
  func messageCame(_ membership: PortMembership) {
    guard isInThisProcess else { return }
    lock.lock()
    let mode = membership.mode
    let isAwaited = membership.isMember && markReady(membership) && state.currentMode == mode
    lock.unlock()
    if isAwaited { wakeWord.kick() }
  }

  /// False if it was marked before: somebody is about to look. Under the lock.
  func markReady(_ membership: PortMembership) -> Bool {
    let mode = membership.mode
    // A membership is of a mode that has them: `register` makes them first, and they last as long as the mode.
    return mode.pointee.messagePorts!.pointee.markReady(membership)
  }

  /// Under the lock.
  func unmarkReady(_ membership: PortMembership) {
    let mode = membership.mode
    // As in `markReady`.
    _ = mode.pointee.messagePorts!.pointee.unmarkReady(membership)
  }

  /// Whose turn it is if a port is marked: a fetched event's after a message, else the port's. [loop]
  @inline(never)
  func takeTurn(in mode: ModePointer) -> PassEvent? {
    guard mode.pointee.isKernelsTurn else { return takeReadyPort(in: mode) ?? takeHeldOrFetchedEvent(in: mode) }
    mode.pointee.isKernelsTurn = false
    if let event = takeHeldOrFetchedEvent(in: mode) { return event }
    // So that the wait may block if nothing is left.
    lock.withLock { dropEmptyPorts(in: mode) }
    return nil
  }

  /// The next port with a message, which goes behind the others. The message stays where it is until it is served: the port may
  /// have left by then, or another loop have taken it. [loop]
  @inline(never)
  func takeReadyPort(in mode: ModePointer) -> PassEvent? {
    lock.lock()
    defer { lock.unlock() }
    dropEmptyPorts(in: mode)
    guard let first = mode.pointee.messagePorts?.pointee.first else { return nil }
    // `first` is among them.
    mode.pointee.messagePorts!.pointee.sendToEnd(first)
    mode.pointee.isKernelsTurn = true
    return .port(first.port, ready: 0)
  }

  /// True if a port of the mode has a message. [loop]
  func hasMessages(in mode: ModePointer) -> Bool {
    guard mode.pointee.hasReadyPorts else { return false }
    return lock.withLock {
      dropEmptyPorts(in: mode)
      return mode.pointee.hasReadyPorts
    }
  }

  /// The marks of ports whose messages were served, or taken by another loop, as far as they come first. Under the lock.
  private func dropEmptyPorts(in mode: ModePointer) {
    guard mode.pointee.messagePorts != nil else { return }
    while let first = mode.pointee.messagePorts!.pointee.first, first.port.mailbox.count == 0 { unmarkReady(first) }
  }

  /// A port that was ready a moment ago, is valid and a member: false if its message has gone.
  @inline(never)
  func serveMessage(of port: Port) -> Bool {
    guard let message = port.mailbox.take() else { return false }
    count(.portCallouts)
    __RUNLOOPKIT_IS_CALLING_OUT_TO_A_PORT__(port, message)
    return true
  }

  // MARK: Members. Under the loop's lock, `register` under the item's too.

  func register(_ port: Port, in mode: ModePointer) throws(RunLoopError) -> UInt64 {
    try makePortSet(of: mode)
    if mode.pointee.messagePorts == nil {
      mode.pointee.madePorts.store(UnsafeRawPointer(UnsafeMutablePointer.make(MessagePorts())), ordering: .releasing)
    }
    let membership = PortMembership(port, self, mode)
    // Made above.
    mode.pointee.messagePorts!.pointee.insert(membership)
    mode.pointee.countPort(1)
    if port.mailbox.join(membership), markReady(membership), state.currentMode == mode { wakeWord.kick() }
    return state.nextStamp()
  }

  /// The caller holds the port.
  func unregister(_ port: Port, from mode: ModePointer) {
    guard let membership = port.mailbox.leave(mode) else { return }
    unmarkReady(membership)
    // As in `markReady`.
    mode.pointee.messagePorts!.pointee.remove(membership)
    mode.pointee.countPort(-1)
  }
}
