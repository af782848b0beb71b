internal import CRunLoopCore

/// Learns that other code has closed a descriptor of its own, or has put another file in its place.
protocol DescriptorOwner: AnyObject {
  /// Under the loop's lock.
  func hasLost(_ descriptor: LostDescriptor)
}

enum LostDescriptor {
  /// There is a new epoll instance, with all members.
  case epoll
  /// There is a new eventfd. All sets have to watch it.
  case wakeup
  /// `take` reports it.
  case other
}

/// A C callback, for `WakeWord.reportLosses`, whose object it gets.
func descriptorWasLost(_ owner: UnsafeMutableRawPointer?, _ lost: rlc_lost) {
  let object = Unmanaged<AnyObject>.fromOpaque(owner!).takeUnretainedValue()
  guard let owner = object as? any DescriptorOwner else { return }
  owner.hasLost(lost == RLC_LOST_EPOLL ? .epoll : lost == RLC_LOST_WAKEUP ? .wakeup : .other)
}

/// Replaces descriptors of the loop itself that other code has closed, or has put another file in place of. The loop
/// reports that, makes a new descriptor, and goes on.
extension RunLoop: DescriptorOwner {
  func hasLost(_ descriptor: LostDescriptor) {
    switch descriptor {
    case .epoll: sayIsReplaced("epoll descriptor")
    case .wakeup: sayIsReplaced("eventfd")
    case .other: break
    }
    // The loop may be asleep in the old descriptor, and a host has to ask for the new one.
    kick()
  }

  private func sayIsReplaced(_ name: String) {
    Diagnosis.warnLocked("other code has closed or replaced a run loop's \(name); a new one has its place")
  }

  /// Watches the eventfd as a hint, or a new one if other code has closed it. Under the lock.
  func watchWakeup(in set: PortSet) throws(RunLoopError) { try wakes.word.watch(in: set) }

  /// Called when other code has closed the eventfd: before the next sleep all sets have to watch a new one. Under the
  /// lock. [loop]
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
