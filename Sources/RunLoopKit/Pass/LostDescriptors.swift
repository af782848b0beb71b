/// Other code has closed a descriptor of the loop's own, or has put another file in its place: the loop says so, makes
/// a new one, and goes on.
extension RunLoop: DescriptorOwner {
  func hasLost(_ descriptor: LostDescriptor) {
    switch descriptor {
    case .epoll: sayIsReplaced("epoll descriptor")
    case .wakeup: sayIsReplaced("eventfd")
    case .other: break
    }
    // Another thread may have noticed it, and the loop sleeps in the old one; a host has to ask for the new one.
    kick()
  }

  private func sayIsReplaced(_ name: String) {
    Diagnosis.warnLocked("other code has closed or replaced a run loop's \(name); a new one has its place")
  }

  /// As a hint; a new one in place of one that other code has closed. Under the lock.
  func watchWakeup(in set: PortSet) throws(RunLoopError) { try wakes.word.watch(in: set) }

  /// Other code has closed it: all sets are to watch a new one before the next sleep. Under the lock. [loop]
  func demandWakeupRenewal() { wakes.word.demandRenewal() }

  /// Announces a sleep in the mode's set. False: something was posted, or there is a new eventfd, which the sets watch
  /// from now on. [loop]
  @inline(__always)
  func beginWait(in set: PortSet) -> Bool { wakes.word.beginWait(in: set) || renewWakeup() }

  @inline(never)
  private func renewWakeup() -> Bool {
    guard wakes.word.takeRenewal() else { return false }
    lock.withLock {
      for mode in state.modes {
        guard let set = mode.ports.set else { continue }
        do throws(RunLoopError) { try wakes.word.renew(in: set) } catch {
          Diagnosis.warnLocked("a loop that sleeps in the mode \(mode.name) cannot be woken: \(error)")
        }
      }
    }
    return false
  }
}
