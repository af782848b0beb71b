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
