internal import CRunLoopCore

/// The owner of descriptors that is notified when other code has closed one, or has put another file in its place.
protocol DescriptorOwner: AnyObject {
  /// Called when a descriptor was lost. Under the loop's lock.
  func hasLost(_ descriptor: LostDescriptor)
}

enum LostDescriptor {
  /// The core has made a new epoll instance, with all members.
  case epoll
  /// The core has made a new eventfd, which all sets have to watch.
  case wakeup
  /// Another descriptor, whose loss `take` reports.
  case other
}

/// The C callback that `WakeWord.reportLosses` registers together with the owner.
func descriptorWasLost(_ owner: UnsafeMutableRawPointer?, _ lost: rlc_lost) {
  let object = Unmanaged<AnyObject>.fromOpaque(owner!).takeUnretainedValue()
  guard let owner = object as? any DescriptorOwner else { return }
  owner.hasLost(lost == RLC_LOST_EPOLL ? .epoll : lost == RLC_LOST_WAKEUP ? .wakeup : .other)
}

/// If other code closes one of the loop's own descriptors, or puts another file in its place, the loop reports that,
/// makes a new one, and goes on.
extension RunLoop: DescriptorOwner {
  func hasLost(_ descriptor: LostDescriptor) {
    switch descriptor {
    case .epoll: sayIsReplaced("epoll descriptor")
    case .wakeup: sayIsReplaced("eventfd")
    case .other: break
    }
    // If another thread has noticed the loss, the loop may be asleep with the old descriptor. The interrupt ends that
    // sleep. It also makes a host call the loop, which then gives the host the new descriptor.
    interrupt()
  }

  private func sayIsReplaced(_ name: String) {
    Diagnosis.warnLocked("other code has closed or replaced a run loop's \(name); a new one has its place")
  }

  /// Has the set watch the eventfd as a hint. Makes a new eventfd if other code has closed the old one. Under the lock.
  func watchWakeup(in set: PortSet) throws(RunLoopError) { try wakes.word.watch(in: set) }

  func demandWakeupRenewal() { wakes.word.demandRenewal() }

  /// Announces a sleep in the mode's set. Returns false if the loop must not sleep, because something was posted, or
  /// because this call has made the sets watch a new eventfd. - Thread: The loop's own.
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
