internal import RunLoopLibc
internal import Synchronization

/// The address of a mode's state, by which items and ports refer to the mode. Only the loop reads that state.
package struct ModePointer: Hashable {
  let address: UnsafeMutableRawPointer

  package init(address: UnsafeMutableRawPointer) { self.address = address }
}

/// What a mode is, besides what it holds. Lives as long as its loop; guarded by the loop's lock.
private struct ModeHead: ~Copyable {
  let name: RunLoop.Mode
  /// The string by which it was found last.
  var lastName: RunLoop.Mode
  var isCommon: Bool
  /// The common modes' pseudo mode, which exists once a block was queued for it, and in which nothing runs.
  let isPseudoMode: Bool
  /// A host has its descriptor, for good.
  var isHosted = false
  /// Runs of it on the stack of the loop's thread, and one for a host.
  var useCount: UInt32 = 0
  /// Blocks in the loop's queue that name this mode.
  var pendingBlockCount: UInt32 = 0
  /// When it was noted as idle last (`IdleModes`); 0: never.
  var idleStamp: UInt32 = 0

  init(name: RunLoop.Mode, isCommon: Bool) {
    self.name = name
    lastName = name
    self.isCommon = isCommon
    isPseudoMode = name == .common
  }
}

/// Where the parts of a mode lie in its memory, one behind the other: each is a value of its own, since changing one
/// part of a Swift value counts as access to the whole, and some of it is read without the lock.
private enum Place {
  @inline(__always)
  private static func behind<Part: ~Copyable>(_ place: Int, _: Part.Type) -> Int {
    // No part is aligned to more (`ModePointer.make`).
    (place + MemoryLayout<Part>.size + 7) & ~7
  }

  static let head = 0
  @inline(__always) static var observers: Int { behind(0, ModeHead.self) }
  @inline(__always) static var sources: Int { behind(observers, ModeObservers.self) }
  @inline(__always) static var counts: Int { behind(sources, ModeSources.self) }
  @inline(__always) static var timers: Int { behind(counts, ModeCounts.self) }
  @inline(__always) static var messages: Int { behind(timers, ModeTimers.self) }
  @inline(__always) static var ports: Int { behind(messages, ModeMessages.self) }
  @inline(__always) static var end: Int { behind(ports, ModePorts.self) }
}

/// The only way to what a mode holds, by kind. Guarded by the loop's lock, but for what is read without it.
extension ModePointer {
  static func make(name: RunLoop.Mode, isCommon: Bool) -> ModePointer {
    precondition(
      [
        MemoryLayout<ModeHead>.alignment, MemoryLayout<ModeObservers>.alignment, MemoryLayout<ModeSources>.alignment,
        MemoryLayout<ModeCounts>.alignment, MemoryLayout<ModeTimers>.alignment, MemoryLayout<ModeMessages>.alignment,
        MemoryLayout<ModePorts>.alignment,
      ].allSatisfy { $0 <= 8 })
    guard let memory = malloc(Place.end) else { fatalError("RunLoopKit: malloc failed") }
    let mode = ModePointer(address: memory)
    mode.part(Place.head).initialize(to: ModeHead(name: name, isCommon: isCommon))
    mode.part(Place.observers).initialize(to: ModeObservers())
    mode.part(Place.sources).initialize(to: ModeSources())
    mode.part(Place.counts).initialize(to: ModeCounts())
    mode.part(Place.timers).initialize(to: ModeTimers())
    mode.part(Place.messages).initialize(to: ModeMessages())
    mode.part(Place.ports).initialize(to: ModePorts())
    return mode
  }

  /// What `make` has made. The port set goes before the timerfds that it knows.
  func destroy() {
    (part(Place.ports) as UnsafeMutablePointer<ModePorts>).deinitialize(count: 1)
    (part(Place.messages) as UnsafeMutablePointer<ModeMessages>).deinitialize(count: 1)
    (part(Place.timers) as UnsafeMutablePointer<ModeTimers>).deinitialize(count: 1)
    (part(Place.counts) as UnsafeMutablePointer<ModeCounts>).deinitialize(count: 1)
    (part(Place.sources) as UnsafeMutablePointer<ModeSources>).deinitialize(count: 1)
    (part(Place.observers) as UnsafeMutablePointer<ModeObservers>).deinitialize(count: 1)
    (part(Place.head) as UnsafeMutablePointer<ModeHead>).deinitialize(count: 1)
    free(address)
  }

  /// The type is that with which `make` has initialized it.
  @inline(__always)
  private func part<Part: ~Copyable>(_ place: Int) -> UnsafeMutablePointer<Part> {
    (address + place).assumingMemoryBound(to: Part.self)
  }

  private var head: ModeHead {
    @inline(__always) unsafeAddress { UnsafePointer(part(Place.head)) }
    @inline(__always) nonmutating unsafeMutableAddress { part(Place.head) }
  }

  @inline(__always)
  var name: RunLoop.Mode { head.name }
  @inline(__always)
  var isPseudoMode: Bool { head.isPseudoMode }

  @inline(__always)
  var isCommon: Bool {
    get { head.isCommon }
    nonmutating set { head.isCommon = newValue }
  }

  var isHosted: Bool {
    head.isHosted
  }

  func isTakenByHost() {
    if !head.isHosted { useCount += 1 }
    head.isHosted = true
  }

  @inline(__always)
  var useCount: UInt32 {
    get { head.useCount }
    nonmutating set { head.useCount = newValue }
  }

  @inline(__always)
  var idleStamp: UInt32 {
    get { head.idleStamp }
    nonmutating set { head.idleStamp = newValue }
  }

  /// Its name by the string that was used last: then the characters need no look.
  @inline(__always)
  func isKnown(as name: RunLoop.Mode) -> Bool { head.lastName.isIdentical(to: name) }

  func isFound(by name: RunLoop.Mode) { head.lastName = name }

  @inline(__always)
  var pendingBlockCount: Int {
    get { Int(head.pendingBlockCount) }
    nonmutating set { head.pendingBlockCount = UInt32(truncatingIfNeeded: newValue) }
  }

  var observers: ModeObservers {
    @inline(__always) unsafeAddress { UnsafePointer(part(Place.observers)) }
    @inline(__always) nonmutating unsafeMutableAddress { part(Place.observers) }
  }

  var sources: ModeSources {
    @inline(__always) unsafeAddress { UnsafePointer(part(Place.sources)) }
    @inline(__always) nonmutating unsafeMutableAddress { part(Place.sources) }
  }

  var counts: ModeCounts {
    @inline(__always) unsafeAddress { UnsafePointer(part(Place.counts)) }
    @inline(__always) nonmutating unsafeMutableAddress { part(Place.counts) }
  }

  var timers: ModeTimers {
    @inline(__always) unsafeAddress { UnsafePointer(part(Place.timers)) }
    @inline(__always) nonmutating unsafeMutableAddress { part(Place.timers) }
  }

  var messages: ModeMessages {
    @inline(__always) unsafeAddress { UnsafePointer(part(Place.messages)) }
  }

  var ports: ModePorts {
    @inline(__always) unsafeAddress { UnsafePointer(part(Place.ports)) }
    @inline(__always) nonmutating unsafeMutableAddress { part(Place.ports) }
  }
}

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
