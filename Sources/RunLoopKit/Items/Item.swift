internal import Synchronization

extension RunLoop {
  /// A member of modes: a source, a port source, a file descriptor source, a source of system events, a port, a timer
  /// or an observer. Programs cannot subclass it.
  ///
  /// A mode retains its items. An item that nothing retains any more is invalidated and destroyed [RLK-ADD-7].
  /// - Thread: Any, for all members.
  open class Item: @unchecked Sendable, Hashable, CustomStringConvertible {
    /// The item's memberships. Guarded by `leaf`.
    @exclusivity(unchecked) private final var links = ItemLinks()
    /// The address of an `ItemExtras`, which the item retains; 0 if it has none, as most items do. Set once. (An
    /// `AtomicLazyReference` would cost hundreds of instructions for each load, since the compiler (6.3) does not
    /// specialise it.)
    private final let extrasAddress: Atomic<UInt>
    /// A leaf lock: a thread that holds it takes no loop's lock. Its `forkGeneration` identifies the process that made
    /// the item, since an inherited item is dead in a child of fork(2).
    private final let leaf = Lock()
    final let validity = Atomic<Bool>(true)
    /// True while the callout of this observer or timer is on the stack.
    final let firing = Atomic<Bool>(false)
    final let kind: Kind
    #if DEBUG
      /// True once the item was given to a loop. For a report (decision 0048).
      final let wasAdded = Atomic<Bool>(false)
    #endif

    /// The item's class. The kind never changes, so a cast that the kind proves needs no check. Proof: only the
    /// initialisers of `Source`, `Timer`, `Observer` and `Port` pass `.source`, `.timer`, `.observer` and `.port`.
    /// Only those of `PortSource` and `FileDescriptorSource` pass `.portSource` and `.descriptorSource`, and only
    /// `EventSource.init` passes `.eventSource` and `.connection`; the classes of these four kinds are descriptor
    /// items. Programs cannot subclass any of them.
    package enum Kind: UInt8 {
      case source, port, portSource, descriptorSource, eventSource, connection, timer, observer

      /// The kind's name in errors.
      var words: String {
        switch self {
        case .source: "source"
        case .port: "port"
        case .portSource: "port source"
        case .descriptorSource: "descriptor source"
        case .eventSource: "event source"
        case .connection: "connection"
        case .timer: "timer"
        case .observer: "observer"
        }
      }
    }

    init(_ kind: Kind, order: Int, onlyLoop: RunLoop?, descriptors: ItemDescriptors? = nil) {
      self.kind = kind
      extrasAddress = Atomic(ItemExtras.make(order: order, onlyLoop: onlyLoop, descriptors: descriptors))
    }

    deinit {
      #if DEBUG
        if !isInvalidated, !wasAdded.load(ordering: .relaxed) { explainNeverAdded() }
      #endif
      let address = extrasAddress.load(ordering: .acquiring)
      // An address other than 0 is not nil. The object was retained once, when its address was stored.
      if address != 0 { Self.extras(at: address)!.release() }
    }

    /// Notes that the item is given to a loop, also if the loop refuses it. Does nothing in release builds.
    @inline(__always)
    final func noteAdding() {
      #if DEBUG
        wasAdded.store(true, ordering: .relaxed)
      #endif
    }

    @inline(__always)
    private static func extras(at address: UInt) -> Unmanaged<ItemExtras>? {
      // `make` and `makeExtras` store only addresses of retained `ItemExtras`.
      UnsafeRawPointer(bitPattern: address).map { Unmanaged.fromOpaque($0) }
    }

    @inline(__always)
    private final var extras: ItemExtras? {
      Self.extras(at: extrasAddress.load(ordering: .acquiring))?.takeUnretainedValue()
    }

    private final func makeExtras() -> ItemExtras {
      let made = Unmanaged.passRetained(ItemExtras())
      let (isFirst, original) = extrasAddress.compareExchange(
        expected: 0, desired: UInt(bitPattern: made.toOpaque()), ordering: .acquiringAndReleasing)
      if isFirst { return made.takeUnretainedValue() }
      made.release()
      // The exchange failed, so the address is not 0. The item retains the object.
      return Self.extras(at: original)!.takeUnretainedValue()
    }

    /// The item's place among the observers, the signalled sources or the signal sources of a mode: the loop calls
    /// items of lower order first. The other kinds ignore it.
    public final var order: Int { extras?.order ?? 0 }

    /// A name for the item, which its description and the loop's show [RLK-TEXT-3]. Nil at first.
    ///
    /// ```swift
    /// let timer = RunLoop.Timer(after: .seconds(1)) { _ in }
    /// timer.label = "retry"
    /// print("\(timer)".contains("retry"))  // prints true
    /// ```
    /// - Complexity: An item without a label pays nothing for it.
    public final var label: String? {
      get { isForked ? nil : extras?.label }
      set {
        guard !isForked, newValue != nil || extras != nil else { return }
        (extras ?? makeExtras()).label = newValue
      }
    }

    /// The label in descriptions, where it follows the kind; empty if there is none.
    package final var labelText: String { label.map { " \"\($0)\"" } ?? "" }

    /// Where the program made the item, if the function that it called knows that. Set before the item is added.
    package final var place: CallPlace {
      get { extras?.place ?? CallPlace() }
      set {
        guard newValue.file != 0 || extras != nil else { return }
        (extras ?? makeExtras()).place = newValue
      }
    }

    /// The item's name in reports of slow callouts: the label; without one, the kind and the line that made the item;
    /// if that is not known either, the description. Calls user code.
    final var nameInReports: String { label ?? place.text.map { "\(kind.words) at \($0)" } ?? description }

    /// The kind and the label, for errors. Calls no user code.
    package final var nameInErrors: String { "the \(kind.words)\(labelText)" }

    /// True if the item does not keep its modes from being finished (`keepsRunning`).
    @inline(__always)
    final var isBackground: Bool { extras?.isBackground.load(ordering: .acquiring) ?? false }

    /// Sets `isBackground`. Returns false if it had that value already.
    final func setBackground(_ isBackground: Bool) -> Bool {
      guard isBackground || extras != nil else { return false }
      return (extras ?? makeExtras()).isBackground.exchange(isBackground, ordering: .acquiringAndReleasing)
        != isBackground
    }

    /// True if the item belongs to the loop itself: programs cannot find it, so they cannot invalidate or remove it.
    /// Set before the item is added.
    package final var isHidden: Bool {
      get { extras?.isHidden ?? false }
      set { (extras ?? makeExtras()).isHidden = newValue }
    }

    /// True if the end of its loop invalidates the item, even if other code retains it. The invalidation resumes the
    /// task that waits for the item. Set before the item is added.
    package final var endsWithItsLoop: Bool {
      get { extras?.endsWithItsLoop ?? false }
      set { (extras ?? makeExtras()).endsWithItsLoop = newValue }
    }

    /// A value that the item keeps until it is destroyed, also while it is invalid. Set before the item is added.
    package final var context: (any Sendable)? {
      get { extras?.context }
      set {
        guard newValue != nil || extras != nil else { return }
        (extras ?? makeExtras()).context = newValue
      }
    }

    /// The text about the context at the end of the item's description; empty if there is no context. Calls user code.
    package final var contextText: String {
      guard let context = extras?.context else { return "" }
      var words = ""
      __RUNLOOPKIT_IS_DESCRIBING_A_CONTEXT__(context, &words)
      return words.isEmpty ? "" : ", context \(words)"
    }

    /// The serial of the only loop that the item may join; nil if the item may join any. An address would not do, since
    /// a later loop may get the same.
    final var onlyLoop: UInt64? { extras?.onlyLoop }

    @inline(__always)
    final var descriptors: ItemDescriptors? { extras?.descriptors }

    /// `descriptors` without reference counting. The caller must retain the item.
    @inline(__always)
    final var heldDescriptors: Unmanaged<ItemDescriptors>? {
      Self.extras(at: extrasAddress.load(ordering: .acquiring))?._withUnsafeGuaranteedRef {
        $0.descriptors.map { Unmanaged.passUnretained($0) }
      }
    }

    /// The descriptor that the item closes when it ends.
    @inline(__always)
    package final var owned: OwnedDescriptor? { extras?.descriptors?.owned }

    @inline(__always)
    final var limiter: RateLimiter? { extras?.descriptors?.limiter }

    final var standIn: OwnedDescriptor? { extras?.descriptors?.standIn }

    /// Identifies the process that made the item.
    final var forkGeneration: UInt32 { leaf.forkGeneration }

    package final var isForked: Bool { forkGeneration != Kernel.forkGeneration }

    package final var isInvalidated: Bool { !validity.load(ordering: .acquiring) }

    /// False once the item is invalidated, and in a child of fork(2) that inherited it.
    public final var isValid: Bool { !isInvalidated && !isForked }

    /// Clears state that must not outlive the item's validity. Called before the item leaves its modes.
    func willLeave() {}

    /// Ends state that must not outlive the item's memberships. Called once, after the invalid item has left its modes.
    func hasLeft() {}

    /// Takes one event and calls the item's closure. Returns true if it has called the closure. The loop holds no lock.
    /// It has found the item ready, valid, and a member of the running mode, but another thread may have changed that
    /// since.
    /// - Parameter ready: `RLC_` bits; 0 for a port.
    /// - Thread: The loop's own.
    func serve(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool { false }

    /// Releases the closure by putting one that does nothing in its place. Called when no callout of the item is on any
    /// stack, and none can begin.
    func releaseBody() {}

    @inline(__always)
    final func withLinks<R: ~Copyable, E: Error>(_ body: (inout ItemLinks) throws(E) -> R) throws(E) -> R {
      leaf.lock()
      defer { leaf.unlock() }
      return try body(&links)
    }

    /// Calls `body` under the leaf lock, for state of subclasses that this lock guards.
    @inline(__always)
    final func withLeafLock<R>(_ body: () -> R) -> R { leaf.withLock(body) }

    /// The item's kind, order, validity and main properties, and the description of its context. For a valid item that
    /// is in no mode, so that no loop can call it, the description ends with `in no mode>` [RLK-TEXT-7].
    public final var description: String { isInNoMode ? "\(words.dropLast()), in no mode>" : words }

    /// True for a valid item that is in no mode. The items that RunLoopPorts and RunLoopEvents keep for themselves do
    /// not count.
    private final var isInNoMode: Bool {
      kind != .connection && isValid && withLinks { links in !links.contains { $0.mode != nil } }
    }

    /// The description without the modes, which begins with `<` and ends with `>`; each subclass overrides it.
    var words: String { "<item \(order)>" }

    /// True for the same item, and for two signalled sources whose identity hooks and orders are equal (rule 28).
    public static func == (a: Item, b: Item) -> Bool { a === b || a.isEqual(to: b) }

    /// Equality beyond identity, which only signalled sources have (rule 28).
    func isEqual(to other: Item) -> Bool { false }

    /// Equal items have equal hashes.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// The hooks of a signalled source or a port. The other kinds have none.
    @inline(__always)
    final var hooks: Source.HeldHooks? { kind == .source || kind == .port ? hooksOfKind : nil }

    /// Overridden by `Source` and `Port`.
    var hooksOfKind: Source.HeldHooks? { nil }

    /// True for timers and observers, which belong to one loop at a time.
    final var isExclusive: Bool { kind == .timer || kind == .observer }
  }
}
