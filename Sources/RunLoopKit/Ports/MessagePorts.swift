internal import Synchronization

/// The ports of a mode, and a list of those with messages, in the order of readiness. Guarded by the loop's lock.
struct MessagePorts: ~Copyable {
  private(set) var members: ContiguousArray<PortMembership> = []
  // The ends of the list. `members` retains them: `remove` takes a membership out of the list first.
  private unowned(unsafe) var firstReady: PortMembership?
  private unowned(unsafe) var lastReady: PortMembership?
  private let readyCount = Atomic<Int>(0)

  /// The loop's thread reads this without the lock.
  var hasReady: Bool { readyCount.load(ordering: .acquiring) > 0 }

  var first: PortMembership? { firstReady }

  mutating func insert(_ membership: PortMembership) {
    membership.index = members.count
    members.append(membership)
  }

  mutating func remove(_ membership: PortMembership) {
    _ = unmarkReady(membership)
    // The last member moves to the free place.
    let last = members.removeLast()
    if last !== membership {
      members[membership.index] = last
      last.index = membership.index
    }
    membership.index = -1
  }

  /// False if it was marked already.
  mutating func markReady(_ membership: PortMembership) -> Bool {
    guard !membership.isReady else { return false }
    membership.isReady = true
    membership.previous = lastReady
    membership.next = nil
    if let lastReady { lastReady.next = membership } else { firstReady = membership }
    lastReady = membership
    readyCount.store(readyCount.load(ordering: .relaxed) + 1, ordering: .releasing)
    return true
  }

  /// False if it was not marked.
  mutating func unmarkReady(_ membership: PortMembership) -> Bool {
    guard membership.isReady else { return false }
    membership.isReady = false
    if let previous = membership.previous { previous.next = membership.next } else { firstReady = membership.next }
    if let next = membership.next { next.previous = membership.previous } else { lastReady = membership.previous }
    (membership.previous, membership.next) = (nil, nil)
    readyCount.store(readyCount.load(ordering: .relaxed) - 1, ordering: .releasing)
    return true
  }

  /// Moves the port behind all others that are ready.
  mutating func sendToEnd(_ membership: PortMembership) {
    guard lastReady !== membership else { return }
    _ = unmarkReady(membership)
    _ = markReady(membership)
  }
}
