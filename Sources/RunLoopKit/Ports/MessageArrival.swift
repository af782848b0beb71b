extension RunLoop {
  /// A message has come into an empty mailbox. Any thread, with no lock held.
  func messageCame(_ membership: PortMembership) {
    guard isInThisProcess else { return }
    lock.lock()
    let mode = membership.mode
    let isAwaited = membership.isMember && mode.messages.mark(membership) && runs(in: mode)
    lock.unlock()
    if isAwaited { kick() }
  }
}
