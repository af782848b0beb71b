internal import Synchronization

extension RunLoop {
  /// What is a member wherever the ports are that it serves: a connection, and what listens for connections.
  ///
  /// It wakes those modes' loops, and takes messages from another process there. What a user sees are the ports.
  class PortFollower: EventSource, @unchecked Sendable {
    /// Held while memberships change: around the loops' locks, never in user code.
    private let following = Lock()

    /// The ports that it serves now.
    var followed: [Mailbox] { [] }

    /// Enters and leaves modes as its ports have. False if a mode has refused it for want of a descriptor: then it is not
    /// served there. With no lock held.
    @discardableResult
    final func follow() -> Bool {
      guard !isForked else { return false }
      return following.withLock {
        let wanted = followed.flatMap { $0.places }
        for link in withLinks({ Array($0) }) where !wanted.contains(where: { $0.mode == link.mode }) {
          if let mode = link.mode { link.host.remove(self, from: link.host.name(of: mode)) }
        }
        var hasAll = true
        for place in wanted where !isMember(of: place.mode) {
          do throws(RunLoopError) {
            try place.host.add(self, to: place.host.name(of: place.mode))
          } catch {
            hasAll = false
          }
        }
        hasChangedPlaces(isServed: !wanted.isEmpty)
        return hasAll
      }
    }

    /// Under the lock that keeps memberships from changing.
    func hasChangedPlaces(isServed: Bool) {}

    /// The port is gone. With no lock held.
    func hasLost(_ mailbox: Mailbox) {}
  }
}

/// Who brings a port messages from other processes; made with the first of them. The port's own loops never wait for its lock.
final class PortConnections: @unchecked Sendable {
  private let lock = Lock()
  /// Guarded by `lock`.
  private var followers = FollowerTable()

  /// Has this object, not the mailbox: a weak reference to that would make each of its retains slow.
  func makeHooks() -> RunLoop.Source.HeldHooks? {
    var hooks = RunLoop.Source.Hooks()
    let hasMoved: @Sendable (RunLoop, RunLoop.Mode) -> Void = { _, _ in self.hasMoved() }
    hooks.schedule = hasMoved
    hooks.cancel = hasMoved
    return RunLoop.Source.HeldHooks.make(hooks)
  }

  /// False if it is among them already.
  func insert(_ follower: RunLoop.PortFollower) -> Bool { lock.withLock { followers.insert(follower) } }

  func remove(_ follower: RunLoop.PortFollower) {
    let gone = lock.withLock { followers.remove(follower) }
    withExtendedLifetime(gone) {}
  }

  private func hasMoved() {
    for follower in lock.withLock({ followers.all }) { follower.follow() }
  }

  /// The port is gone.
  func end(of mailbox: Mailbox) {
    let all = lock.withLock {
      defer { followers = FollowerTable() }
      return followers.all
    }
    for follower in all { follower.hasLost(mailbox) }
  }
}

/// Each follower once; to enter and to leave takes no longer among thousands, which may all go at once.
struct FollowerTable {
  private(set) var all: ContiguousArray<RunLoop.PortFollower> = []
  /// Where each is; empty while there are so few that they are looked through: cheaper than to hash.
  private var places: [ObjectIdentifier: Int] = [:]
  private static let few = 8

  private func place(of follower: RunLoop.PortFollower) -> Int? {
    all.count <= FollowerTable.few ? all.firstIndex { $0 === follower } : places[ObjectIdentifier(follower)]
  }

  mutating func insert(_ follower: RunLoop.PortFollower) -> Bool {
    guard place(of: follower) == nil else { return false }
    all.append(follower)
    if all.count > FollowerTable.few + 1 {
      places[ObjectIdentifier(follower)] = all.count - 1
    } else if all.count > FollowerTable.few {
      for (place, one) in all.enumerated() { places[ObjectIdentifier(one)] = place }
    }
    return true
  }

  /// The last one takes its place. What the table has let go of, to be released with no lock held.
  mutating func remove(_ follower: RunLoop.PortFollower) -> RunLoop.PortFollower? {
    guard let place = place(of: follower) else { return nil }
    let last = all.removeLast()
    if !places.isEmpty {
      places[ObjectIdentifier(follower)] = nil
      if last !== follower { places[ObjectIdentifier(last)] = place }
      if all.count <= FollowerTable.few { places = [:] }
    }
    guard place < all.count else { return last }
    defer { all[place] = last }
    return all[place]
  }
}

extension RunLoop {
  /// Under the lock: it never changes, but ThreadSanitizer takes a change of a mode for one of all of it.
  fileprivate func name(of mode: ModePointer) -> Mode { lock.withLock { mode.pointee.name } }
}
