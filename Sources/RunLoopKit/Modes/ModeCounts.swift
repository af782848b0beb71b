internal import Synchronization

/// How many members a mode has, and what they are good for. Guarded by the loop's lock.
struct ModeCounts: ~Copyable {
  private var portCount: Int32 = 0
  private var timerCount: Int32 = 0
  private var connectionCount: Int32 = 0
  /// Members that do not keep it from being finished.
  private(set) var background = BackgroundMembers()
  /// Descriptors, of which the kernel may report an event. Read without the lock.
  private let watched = Atomic<Int>(0)
  /// What there is to run for: without connections and those in the background. Read without the lock; never too large.
  private let keeping = Atomic<Int>(0)

  /// All but timers, sources and observers.
  var ports: Int { Int(portCount) }
  /// Those of them that bring other processes' messages to its ports, which alone keep it from being empty.
  var connections: Int { Int(connectionCount) }

  @inline(__always)
  var hasTimers: Bool { timerCount != 0 }

  /// There are members of kinds that need the mode's descriptors, or may need them when they are armed.
  @inline(__always)
  var needDescriptors: Bool { portCount | timerCount != 0 }

  /// The kernel may report an event of a member other than a timer.
  @inline(__always)
  var hasWatched: Bool { watched.load(ordering: .acquiring) > 0 }

  @inline(__always)
  var hasKeeping: Bool { keeping.load(ordering: .acquiring) > 0 }

  /// Rule 2, without blocks and the main queue. A firing timer is still a member.
  var hasNoItems: Bool { keeping.load(ordering: .relaxed) == 0 }

  /// One more, or one less: 1 or -1.
  @inline(__always)
  mutating func addTimer(_ change: Int) {
    timerCount += Int32(truncatingIfNeeded: change)
    add(watched: 0, keeping: change)
  }

  @inline(__always)
  func addSource(_ change: Int) { add(watched: 0, keeping: change) }

  @inline(__always)
  mutating func addDescriptor(_ change: Int) {
    portCount += Int32(truncatingIfNeeded: change)
    add(watched: change, keeping: change)
  }

  mutating func addPort(_ change: Int) {
    portCount += Int32(truncatingIfNeeded: change)
    add(watched: 0, keeping: change)
  }

  mutating func addConnection(_ change: Int) {
    portCount += Int32(truncatingIfNeeded: change)
    connectionCount += Int32(truncatingIfNeeded: change)
    add(watched: change, keeping: 0)
  }

  /// Under the loop's lock, so that what is loaded is still true.
  @inline(__always)
  private func add(watched change: Int, keeping other: Int) {
    if change != 0 { watched.store(watched.load(ordering: .relaxed) + change, ordering: .releasing) }
    if other != 0 { keeping.store(keeping.load(ordering: .relaxed) + other, ordering: .releasing) }
  }

  @inline(never)
  mutating func insertInBackground(_ item: RunLoop.Item) {
    if background.insert(item) { add(watched: 0, keeping: -1) }
  }

  @inline(never)
  mutating func removeFromBackground(_ item: RunLoop.Item) {
    if background.remove(item) { add(watched: 0, keeping: 1) }
  }
}

/// The members of a mode that do not keep it from being finished. Guarded by the loop's lock.
struct BackgroundMembers {
  /// Nil rather than empty.
  private var members: Set<ObjectIdentifier>?

  @inline(__always)
  var count: Int { members?.count ?? 0 }

  /// False if it is one already.
  mutating func insert(_ item: RunLoop.Item) -> Bool {
    if members == nil { members = [] }
    return members!.insert(ObjectIdentifier(item)).inserted
  }

  /// False if it is none.
  mutating func remove(_ item: RunLoop.Item) -> Bool {
    let isGone = members?.remove(ObjectIdentifier(item)) != nil
    if members?.isEmpty == true { members = nil }
    return isGone
  }
}
