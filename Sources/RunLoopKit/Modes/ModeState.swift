internal import Synchronization

/// What a mode holds. Lives as long as its loop; guarded by the loop's lock, but for the atomics.
struct ModeState: ~Copyable {
  let name: RunLoop.Mode
  /// The string by which it was found last.
  var lastName: RunLoop.Mode
  var isCommon: Bool
  /// The common modes' pseudo mode, which exists once a block was queued for it, and in which nothing runs.
  let isPseudoMode: Bool

  /// Sorted by order, equal ones by time of adding.
  var observers: ContiguousArray<ObserverEntry> = []
  /// Changes whenever `observers` does.
  var observersVersion: UInt64 = 0
  /// The activities that any observer is interested in; read without the lock, to pass by a notification that nobody wants.
  let observedActivities = Atomic<UInt>(0)

  var sources: ContiguousArray<SourceEntry> = []
  /// Read without the lock.
  let sourceCount = Atomic<Int>(0)
  /// Sources whose equality is more than identity.
  var sourcesWithIdentity = 0

  private(set) var portCount = 0
  /// Those of them that bring other processes' messages to its ports, which alone keep it from being empty.
  private(set) var connectionCount = 0
  private(set) var timerCount = 0
  /// Of both together: what the kernel may have to tell of. Read without the lock.
  let awaitedCount = Atomic<Int>(0)
  /// Members that do not keep it from being finished.
  private(set) var background = BackgroundMembers()
  /// Of both and signalled sources, without connections and those in the background: what there is to run for. Read without
  /// the lock; never too large.
  let keepingCount = Atomic<Int>(0)
  var timerHeap: TimerHeap?
  /// The mode's own timerfd, so that an expiry has its place among the mode's ready ports, whatever runs at that moment.
  var timerPort: TimerPort?
  var timerExpiry = TimerExpiry()
  /// The timers on other clocks than the suspending one, in the order of `TimerClock`; nil rather than empty.
  var otherClocks: ContiguousArray<OtherClock>?

  /// Its ports for messages (`messagePorts`), made with the first, so that a mode without them pays a load for it.
  let madePorts = Atomic<UnsafeRawPointer?>(nil)
  /// A message of one of them was served last: what the kernel has found comes next. The loop's own thread only.
  var isKernelsTurn = false

  /// Blocks in the loop's queue that name this mode.
  var pendingBlockCount = 0

  var portSet: PortSet?
  /// Members that epoll does not take back; nil for all but the unlucky.
  var unheard: Unheard?
  /// Why its waits fail; 0: they do not.
  var waitFailure: Int32 = 0
  var hasTimerHint = false
  var hasMainQueueHint = false

  struct ObserverEntry {
    let observer: RunLoop.Observer
    let stamp: UInt64
  }

  struct SourceEntry {
    let source: RunLoop.Source
    let stamp: UInt64
  }

  init(name: RunLoop.Mode, isCommon: Bool) {
    self.name = name
    lastName = name
    self.isCommon = isCommon
    isPseudoMode = name == .common
  }

  /// One more, or one less: 1 or -1.
  @inline(__always)
  mutating func countTimer(_ change: Int) {
    timerCount += change
    count(awaited: change, keeping: change)
  }

  @inline(__always)
  mutating func countPort(_ change: Int) {
    portCount += change
    count(awaited: change, keeping: change)
  }

  mutating func countConnection(_ change: Int) {
    portCount += change
    connectionCount += change
    count(awaited: change, keeping: 0)
  }

  /// Under the loop's lock, so that what is loaded is still true.
  @inline(__always)
  private func count(awaited: Int, keeping: Int) {
    awaitedCount.store(awaitedCount.load(ordering: .relaxed) + awaited, ordering: .releasing)
    keepingCount.store(keepingCount.load(ordering: .relaxed) + keeping, ordering: .releasing)
  }

  @inline(never)
  mutating func insertInBackground(_ item: RunLoop.Item) {
    if background.insert(item) { count(awaited: 0, keeping: -1) }
  }

  @inline(never)
  mutating func removeFromBackground(_ item: RunLoop.Item) {
    if background.remove(item) { count(awaited: 0, keeping: 1) }
  }

  /// Whether the port set is made and knows all of the mode's descriptors that its members need, but the main queue's.
  var hasHints: Bool { portSet != nil && (hasTimerHint || !needsTimerHint) }

  /// A timerfd that has lost its timers before it entered the set is not asked for.
  var needsTimerHint: Bool { timerPort != nil && timerCount > 0 }

  /// Rule 2, without blocks and the main queue. A firing timer is still a member.
  var hasNoItems: Bool { keepingCount.load(ordering: .relaxed) == 0 }

  var hasNoMembers: Bool { sources.isEmpty && portCount == 0 && timerCount == 0 && observers.isEmpty }

  deinit {
    messagePorts?.destroy()
    portSet?.destroy()
    timerHeap?.destroy()
    timerPort?.destroy()
  }
}

extension ModePointer {
  static func make(_ state: consuming ModeState) -> ModePointer {
    ModePointer(address: UnsafeMutableRawPointer(UnsafeMutablePointer<ModeState>.make(state)))
  }

  /// What `make` has made.
  func destroy() { pointer.destroy() }

  @inline(__always)
  private var pointer: UnsafeMutablePointer<ModeState> { address.assumingMemoryBound(to: ModeState.self) }

  var pointee: ModeState {
    @inline(__always) unsafeAddress { UnsafePointer(pointer) }
    @inline(__always) nonmutating unsafeMutableAddress { pointer }
  }
}

extension ModeState {
  var ports: [RunLoop.DescriptorItem] {
    // Proof: `register` inserts nothing but descriptor items; hints are no members.
    portSet?.members.map { unsafeDowncast($0, to: RunLoop.DescriptorItem.self) } ?? []
  }

  var timers: [RunLoop.Timer] {
    var members = timerHeap?.members ?? []
    if let otherClocks { members += otherClocks.flatMap(\.heap.members) }
    // Proof: nothing else is inserted into a heap (`TimerHeap.insert` is called by `register` of a timer alone).
    return members.map { unsafeDowncast($0, to: RunLoop.Timer.self) }
  }

  @inline(__always)
  func heap(of clock: RunLoop.TimerClock) -> TimerHeap? {
    clock == .suspending ? timerHeap : otherClock(clock)?.heap
  }

  func otherClock(_ clock: RunLoop.TimerClock) -> OtherClock? { otherClocks?.first { $0.clock == clock } }

  mutating func insert(_ observer: RunLoop.Observer, stamp: UInt64) {
    var index = observers.endIndex
    while index > 0, observers[index - 1].observer.order > observer.order { index -= 1 }
    observers.insert(ObserverEntry(observer: observer, stamp: stamp), at: index)
    observersVersion &+= 1
    let mask = observedActivities.load(ordering: .relaxed) | observer.activities.rawValue
    observedActivities.store(mask, ordering: .releasing)
  }

  mutating func remove(_ observer: RunLoop.Observer) {
    guard let index = observers.firstIndex(where: { $0.observer === observer }) else { return }
    observers.remove(at: index)
    observersVersion &+= 1
    let before = observedActivities.load(ordering: .relaxed)
    var mask: UInt = 0
    for entry in observers {
      mask |= entry.observer.activities.rawValue
      if mask == before { return }
    }
    observedActivities.store(mask, ordering: .releasing)
  }

  mutating func insert(_ source: RunLoop.Source, stamp: UInt64) {
    sources.append(SourceEntry(source: source, stamp: stamp))
    if source.hasIdentity { sourcesWithIdentity += 1 }
    sourceCount.store(sources.count, ordering: .releasing)
    count(awaited: 0, keeping: 1)
  }

  mutating func remove(_ source: RunLoop.Source) {
    guard let index = sources.firstIndex(where: { $0.source === source }) else { return }
    sources.remove(at: index)
    if source.hasIdentity { sourcesWithIdentity -= 1 }
    sourceCount.store(sources.count, ordering: .releasing)
    count(awaited: 0, keeping: -1)
  }
}
