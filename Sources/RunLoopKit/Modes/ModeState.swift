internal import Synchronization

/// What a mode holds, by kind. Lives as long as its loop; guarded by the loop's lock, but for what is read without it.
struct ModeState: ~Copyable {
  let name: RunLoop.Mode
  /// The string by which it was found last.
  fileprivate var lastName: RunLoop.Mode
  fileprivate var isCommon: Bool
  /// The common modes' pseudo mode, which exists once a block was queued for it, and in which nothing runs.
  let isPseudoMode: Bool
  fileprivate var observers = ModeObservers()
  fileprivate var sources = ModeSources()
  fileprivate var counts = ModeCounts()
  fileprivate var timers = ModeTimers()
  fileprivate var messages = ModeMessages()
  fileprivate var ports = ModePorts()
  /// Blocks in the loop's queue that name this mode.
  fileprivate var pendingBlockCount = 0

  init(name: RunLoop.Mode, isCommon: Bool) {
    self.name = name
    lastName = name
    self.isCommon = isCommon
    isPseudoMode = name == .common
  }
}

/// The only way to it.
extension ModePointer {
  static func make(name: RunLoop.Mode, isCommon: Bool) -> ModePointer {
    let state = UnsafeMutablePointer<ModeState>.make(ModeState(name: name, isCommon: isCommon))
    return ModePointer(address: UnsafeMutableRawPointer(state))
  }

  /// What `make` has made.
  func destroy() { address.assumingMemoryBound(to: ModeState.self).destroy() }

  private var state: ModeState {
    @inline(__always) unsafeAddress { UnsafePointer(address.assumingMemoryBound(to: ModeState.self)) }
    @inline(__always) nonmutating unsafeMutableAddress { address.assumingMemoryBound(to: ModeState.self) }
  }

  @inline(__always)
  var name: RunLoop.Mode { state.name }
  @inline(__always)
  var isPseudoMode: Bool { state.isPseudoMode }

  @inline(__always)
  var isCommon: Bool {
    get { state.isCommon }
    nonmutating set { state.isCommon = newValue }
  }

  /// Its name by the string that was used last: then the characters need no look.
  @inline(__always)
  func isKnown(as name: RunLoop.Mode) -> Bool { state.lastName.isIdentical(to: name) }

  func isFound(by name: RunLoop.Mode) { state.lastName = name }

  @inline(__always)
  var pendingBlockCount: Int {
    get { state.pendingBlockCount }
    nonmutating set { state.pendingBlockCount = newValue }
  }

  var observers: ModeObservers {
    @inline(__always) unsafeAddress { UnsafePointer(place(of: &state.observers)) }
    @inline(__always) nonmutating unsafeMutableAddress { place(of: &state.observers) }
  }

  var sources: ModeSources {
    @inline(__always) unsafeAddress { UnsafePointer(place(of: &state.sources)) }
    @inline(__always) nonmutating unsafeMutableAddress { place(of: &state.sources) }
  }

  var counts: ModeCounts {
    @inline(__always) unsafeAddress { UnsafePointer(place(of: &state.counts)) }
    @inline(__always) nonmutating unsafeMutableAddress { place(of: &state.counts) }
  }

  var timers: ModeTimers {
    @inline(__always) unsafeAddress { UnsafePointer(place(of: &state.timers)) }
    @inline(__always) nonmutating unsafeMutableAddress { place(of: &state.timers) }
  }

  var messages: ModeMessages {
    @inline(__always) unsafeAddress { UnsafePointer(place(of: &state.messages)) }
    @inline(__always) nonmutating unsafeMutableAddress { place(of: &state.messages) }
  }

  var ports: ModePorts {
    @inline(__always) unsafeAddress { UnsafePointer(place(of: &state.ports)) }
    @inline(__always) nonmutating unsafeMutableAddress { place(of: &state.ports) }
  }
}

/// What is read without the lock: as reads of the state, since a part's place counts as a change of it (ThreadSanitizer).
extension ModePointer {
  @inline(__always)
  func wants(_ activity: RunLoop.Activity) -> Bool { state.observers.want(activity) }
  @inline(__always)
  var hasSources: Bool { !state.sources.isEmpty }
  @inline(__always)
  var hasAwaited: Bool { state.counts.hasAwaited }
  @inline(__always)
  var hasKeeping: Bool { state.counts.hasKeeping }
  @inline(__always)
  var hasReadyMessages: Bool { state.messages.hasReady }
  /// Never exchanged once it is made. Without the lock: [loop]
  @inline(__always)
  var portSet: PortSet? { state.ports.set }
  /// True if the turn was the kernel's, and is not any more. [loop]
  func takeKernelsTurn() -> Bool { state.messages.takeKernelsTurn() }
}

/// Of what is part of a struct in memory, which neither moves nor is observed: so its address is that of the access. (A property
/// that yields the part instead costs an allocation where nothing is optimized.)
@inline(__always)
private func place<Part: ~Copyable>(of part: inout Part) -> UnsafeMutablePointer<Part> {
  withUnsafeMutablePointer(to: &part) { $0 }
}

/// A loop, as its modes know it.
protocol ModeHost: PortHost {
  var isMain: Bool { get }
  /// Makes it look, if it sleeps. Any thread.
  func kick()
  /// The descriptor that wakes it, made with its first port set. Under the lock.
  func makeWakeup() throws(RunLoopError) -> Int32
  /// Under the lock.
  func runs(in mode: ModePointer) -> Bool
  /// Of timers that are added without one, in nanoseconds. Under the lock.
  var defaultTolerance: UInt64 { get }
  /// A number that grows with every membership. Under the lock.
  func nextStamp() -> UInt64
  /// A source that may equal another one (rule 28) has entered. Under the lock.
  func identityCame()
  /// The edge of the main queue's descriptor has been taken from a set. [loop]
  func mainQueueCame()
}

/// How many members a mode has, and what they are good for. Guarded by the loop's lock.
struct ModeCounts: ~Copyable {
  /// All but timers, sources and observers.
  private(set) var ports = 0
  /// Those of them that bring other processes' messages to its ports, which alone keep it from being empty.
  private(set) var connections = 0
  /// Members that do not keep it from being finished.
  private(set) var background = BackgroundMembers()
  /// What the kernel may have to tell of. Read without the lock.
  private let awaited = Atomic<Int>(0)
  /// What there is to run for: without connections and those in the background. Read without the lock; never too large.
  private let keeping = Atomic<Int>(0)

  /// The kernel may have to tell of a member.
  @inline(__always)
  var hasAwaited: Bool { awaited.load(ordering: .acquiring) > 0 }

  @inline(__always)
  var hasKeeping: Bool { keeping.load(ordering: .acquiring) > 0 }

  /// Rule 2, without blocks and the main queue. A firing timer is still a member.
  var hasNoItems: Bool { keeping.load(ordering: .relaxed) == 0 }

  /// One more, or one less: 1 or -1.
  @inline(__always)
  func addTimer(_ change: Int) { add(awaited: change, keeping: change) }

  @inline(__always)
  func addSource(_ change: Int) { add(awaited: 0, keeping: change) }

  @inline(__always)
  mutating func addPort(_ change: Int) {
    ports += change
    add(awaited: change, keeping: change)
  }

  mutating func addConnection(_ change: Int) {
    ports += change
    connections += change
    add(awaited: change, keeping: 0)
  }

  /// Under the loop's lock, so that what is loaded is still true.
  @inline(__always)
  private func add(awaited change: Int, keeping other: Int) {
    awaited.store(awaited.load(ordering: .relaxed) + change, ordering: .releasing)
    keeping.store(keeping.load(ordering: .relaxed) + other, ordering: .releasing)
  }

  @inline(never)
  mutating func insertInBackground(_ item: RunLoop.Item) {
    if background.insert(item) { add(awaited: 0, keeping: -1) }
  }

  @inline(never)
  mutating func removeFromBackground(_ item: RunLoop.Item) {
    if background.remove(item) { add(awaited: 0, keeping: 1) }
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
