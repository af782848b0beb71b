extension RunLoop {
  /// Called when a message has come into an empty mailbox, on any thread, with no lock held.
  func messageCame(_ membership: PortMembership) {
    guard isInThisProcess else { return }
    lock.lock()
    let mode = membership.mode
    let isAwaited = membership.isMember && mode.messages.mark(membership) && runs(in: mode)
    lock.unlock()
    if isAwaited { interrupt() }
  }
}
