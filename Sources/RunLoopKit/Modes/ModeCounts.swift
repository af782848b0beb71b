internal import Synchronization

/// Counts of a mode's members: of timers and ports, of members for which the kernel reports events, and of members that
/// keep the mode from being finished. Guarded by the loop's lock.
struct ModeCounts: ~Copyable {
  private var portCount: Int32 = 0
  private var timerCount: Int32 = 0
  private var connectionCount: Int32 = 0
  private(set) var background = BackgroundMembers()
  /// The number of descriptors for which the kernel may report an event. Read without the lock.
  private let watched = Atomic<Int>(0)
  /// The number of members that keep the mode from being finished, which connections and background members do not.
  /// Read without the lock.
  private let keeping = Atomic<Int>(0)

  /// The number of members that are no timers, signalled sources or observers.
  var ports: Int { Int(portCount) }
  /// The number of connections among `ports`. They bring messages of other processes to the mode's ports. Connections
  /// do not keep the mode from being finished; the ports do.
  var connections: Int { Int(connectionCount) }

  @inline(__always)
  var hasTimers: Bool { timerCount != 0 }

  /// True if the mode has timers, or members counted in `ports`. Timers need a descriptor when they are armed.
  @inline(__always)
  var needDescriptors: Bool { portCount | timerCount != 0 }

  /// True if the kernel may report an event of a member other than a timer.
  @inline(__always)
  var hasWatched: Bool { watched.load(ordering: .acquiring) > 0 }

  @inline(__always)
  var hasKeeping: Bool { keeping.load(ordering: .acquiring) > 0 }

  /// True if no member keeps the mode from being finished (rule 2). Blocks and the main queue are no members.
  var hasNoItems: Bool { keeping.load(ordering: .relaxed) == 0 }

  /// Counts a timer that enters or leaves. - Parameter change: 1 or -1, here and in the functions below.
  @inline(__always)
  mutating func addTimer(_ timer: RunLoop.Item, _ change: Int) {
    timerCount += Int32(truncatingIfNeeded: change)
    addMember(timer, change)
  }

  @inline(__always)
  mutating func addSource(_ source: RunLoop.Item, _ change: Int) { addMember(source, change) }

  @inline(__always)
  mutating func addDescriptor(_ item: RunLoop.Item, _ change: Int) {
    portCount += Int32(truncatingIfNeeded: change)
    add(watched: change, keeping: 0)
    addMember(item, change)
  }

  mutating func addPort(_ port: RunLoop.Item, _ change: Int) {
    portCount += Int32(truncatingIfNeeded: change)
    addMember(port, change)
  }

  mutating func addConnection(_ change: Int) {
    portCount += Int32(truncatingIfNeeded: change)
    connectionCount += Int32(truncatingIfNeeded: change)
    add(watched: change, keeping: 0)
  }

  /// Counts a member that enters or leaves. A background member does not change `keeping`, not even for a moment: a run
  /// that read the count at that moment would sleep in an empty mode.
  @inline(__always)
  private mutating func addMember(_ item: RunLoop.Item, _ change: Int) {
    let isBackground = change > 0 ? item.isBackground : background.count > 0
    if isBackground, addBackground(item, change) { return }
    add(watched: 0, keeping: change)
  }

  /// Returns false if this does not change `background`.
  @inline(never)
  private mutating func addBackground(_ item: RunLoop.Item, _ change: Int) -> Bool {
    change > 0 ? background.insert(item) : background.remove(item)
  }

  /// Called under the loop's lock, so no other thread changes a count between the load and the store.
  @inline(__always)
  private func add(watched change: Int, keeping other: Int) {
    if change != 0 { watched.store(watched.load(ordering: .relaxed) + change, ordering: .releasing) }
    if other != 0 { keeping.store(keeping.load(ordering: .relaxed) + other, ordering: .releasing) }
  }

  mutating func moveToBackground(_ item: RunLoop.Item) {
    if background.insert(item) { add(watched: 0, keeping: -1) }
  }

  mutating func moveToForeground(_ item: RunLoop.Item) {
    if background.remove(item) { add(watched: 0, keeping: 1) }
  }
}

/// The members of a mode that do not keep it from being finished. Guarded by the loop's lock.
struct BackgroundMembers {
  /// Nil if there are none.
  private var members: Set<ObjectIdentifier>?

  @inline(__always)
  var count: Int { members?.count ?? 0 }

  /// Returns false if the item is in the background already.
  mutating func insert(_ item: RunLoop.Item) -> Bool {
    if members == nil { members = [] }
    return members!.insert(ObjectIdentifier(item)).inserted
  }

  /// Returns false if the item is not in the background.
  mutating func remove(_ item: RunLoop.Item) -> Bool {
    let isGone = members?.remove(ObjectIdentifier(item)) != nil
    if members?.isEmpty == true { members = nil }
    return isGone
  }
}
