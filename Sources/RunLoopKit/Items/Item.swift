internal import Synchronization

extension RunLoop {
  /// What a mode holds: a source, a port source, a file descriptor source, a source of events of the system, a port, a
  /// timer or an observer; not open to others.
  ///
  /// Modes hold strong references to their items; an item without any reference is invalidated and destroyed
  /// [RLK-ADD-7].
  /// - Thread: Any, for all members.
  open class Item: @unchecked Sendable, Hashable, CustomStringConvertible {
    /// Where the item is a member. Guarded by `leaf`.
    @exclusivity(unchecked) private final var links = ItemLinks()
    /// The address of an `ItemExtras` that the item holds, or 0: few have some. Set once. (`AtomicLazyReference` is not
    /// specialised by the compiler (6.3): a load costs hundreds of instructions.)
    private final let extrasAddress: Atomic<UInt>
    /// A leaf lock: taken under a loop's lock, never around one. It knows the process that made it; in a child of
    /// fork(2) an inherited item is dead, and its locks are not to be touched.
    private final let leaf = Lock()
    final let validity = Atomic<Bool>(true)
    /// The callout of an observer or a timer is on the stack.
    final let firing = Atomic<Bool>(false)
    final let kind: Kind

    /// The subclass: a constant, so that casts by it need no check. `Item.init` is internal; `.source`, `.timer`,
    /// `.observer` and `.port` are passed on by the initialisers of just these classes, `.portSource` and
    /// `.descriptorSource` by those of theirs, which are all descriptor items, and `.eventSource` and `.connection` by
    /// `EventSource.init` alone. None of them is open to others.
    package enum Kind: UInt8 {
      case source, port, portSource, descriptorSource, eventSource, connection, timer, observer

      /// For errors.
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

    init(_ kind: Kind, order: Int, onlyHost: RunLoop?, descriptors: ItemDescriptors? = nil) {
      self.kind = kind
      extrasAddress = Atomic(ItemExtras.make(order: order, onlyHost: onlyHost, descriptors: descriptors))
    }

    deinit {
      let address = extrasAddress.load(ordering: .acquiring)
      // Not 0, so not nil; retained once, where it was set.
      if address != 0 { Self.extras(at: address)!.release() }
    }

    @inline(__always)
    private static func extras(at address: UInt) -> Unmanaged<ItemExtras>? {
      // Only addresses of retained `ItemExtras` are stored (`make`, `makeExtras`).
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
      // The exchange failed, so it is not 0; retained as long as the item.
      return Self.extras(at: original)!.takeUnretainedValue()
    }

    /// Lower is called first, among the observers, the signalled sources or the signal sources of a mode; the other
    /// kinds ignore it.
    public final var order: Int { extras?.order ?? 0 }

    /// What the item is for, in the words of who made it: shown in its description and in the loop's [RLK-TEXT-3]. Nil
    /// at first.
    /// - Complexity: An item without a label pays nothing for it.
    public final var label: String? {
      get { isForked ? nil : extras?.label }
      set {
        guard !isForked, newValue != nil || extras != nil else { return }
        (extras ?? makeExtras()).label = newValue
      }
    }

    /// For descriptions: behind the kind.
    package final var labelText: String { label.map { " \"\($0)\"" } ?? "" }

    /// For errors: no user code is called.
    package final var nameInErrors: String { "the \(kind.words)\(labelText)" }

    /// It does not keep its modes from being finished (`keepsRunning`).
    @inline(__always)
    final var isBackground: Bool { extras?.isBackground.load(ordering: .acquiring) ?? false }

    /// False if that changes nothing.
    final func setBackground(_ isBackground: Bool) -> Bool {
      guard isBackground || extras != nil else { return false }
      return (extras ?? makeExtras()).isBackground.exchange(isBackground, ordering: .acquiringAndReleasing)
        != isBackground
    }

    /// It is the loop's own: programs cannot find it, to invalidate or remove it. Set before it is added.
    package final var isHidden: Bool {
      get { extras?.isHidden ?? false }
      set { (extras ?? makeExtras()).isHidden = newValue }
    }

    /// The end of a loop that it is a member of invalidates it, whoever holds it: a task waits for it. Set before it is
    /// added.
    package final var endsWithItsLoop: Bool {
      get { extras?.endsWithItsLoop ?? false }
      set { (extras ?? makeExtras()).endsWithItsLoop = newValue }
    }

    /// What the item is for: kept until it is destroyed, also when it is invalid before. Set before it is added.
    package final var context: (any Sendable)? {
      get { extras?.context }
      set {
        guard newValue != nil || extras != nil else { return }
        (extras ?? makeExtras()).context = newValue
      }
    }

    /// For descriptions: its words, if it has any, behind the rest.
    package final var contextText: String {
      guard let context = extras?.context else { return "" }
      var words = ""
      __RUNLOOPKIT_IS_DESCRIBING_A_CONTEXT__(context, &words)
      return words.isEmpty ? "" : ", context \(words)"
    }

    /// The serial of the only loop that the item may join, if it was made for one; an address may be used again.
    final var onlyHost: UInt64? { extras?.onlyHost }

    @inline(__always)
    final var descriptors: ItemDescriptors? { extras?.descriptors }

    /// The same, without a count of references: for who holds the item.
    @inline(__always)
    final var heldDescriptors: Unmanaged<ItemDescriptors>? {
      Self.extras(at: extrasAddress.load(ordering: .acquiring))?._withUnsafeGuaranteedRef {
        $0.descriptors.map { Unmanaged.passUnretained($0) }
      }
    }

    /// What is closed with the item.
    @inline(__always)
    package final var owned: OwnedDescriptor? { extras?.descriptors?.owned }

    /// How often it may be called.
    @inline(__always)
    final var limiter: RateLimiter? { extras?.descriptors?.limiter }

    /// What its loops watch in place of its descriptor.
    final var standIn: OwnedDescriptor? { extras?.descriptors?.standIn }

    /// The process that made it.
    final var forkGeneration: UInt32 { leaf.forkGeneration }

    package final var isForked: Bool { forkGeneration != Kernel.forkGeneration }

    package final var isInvalidated: Bool { !validity.load(ordering: .acquiring) }

    /// False once the item was invalidated, and in a child of fork(2) that inherited it.
    public final var isValid: Bool { !isInvalidated && !isForked }

    /// Clears what must not outlive validity, before the modes are left.
    func willLeave() {}

    /// What subclasses do of that.
    func hasLeft() {}

    /// Takes one event and calls out; true if it did. It was found ready, and is valid and a member of the mode that
    /// runs, or was a moment ago. On the loop's thread, with no lock held.
    /// - Parameter ready: `RLC_` bits; 0 of a port.
    func serve(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool { false }

    /// Exchanges the closure for one that does nothing. No callout of the item is on any stack, and none begins.
    func releaseBody() {}

    @inline(__always)
    final func withLinks<R: ~Copyable, E: Error>(_ body: (inout ItemLinks) throws(E) -> R) throws(E) -> R {
      leaf.lock()
      defer { leaf.unlock() }
      return try body(&links)
    }

    /// For what else subclasses keep under the leaf lock.
    @inline(__always)
    final func withLeafLock<R>(_ body: () -> R) -> R { leaf.withLock(body) }

    /// Kind, order, validity and what matters besides; with the words of its context.
    public final var description: String { words }

    /// The same, of each kind.
    var words: String { "<item \(order)>" }

    /// Identity; of signalled sources also equal identity hooks and order (rule 28).
    public static func == (a: Item, b: Item) -> Bool { a === b || a.isEqual(to: b) }

    /// Equality beyond identity; only signalled sources have it (rule 28).
    func isEqual(to other: Item) -> Bool { false }

    /// In accordance with equality.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// Only a signalled source and a port may have some.
    @inline(__always)
    final var hooks: Source.HeldHooks? { kind == .source || kind == .port ? hooksOfKind : nil }

    /// What those two have.
    var hooksOfKind: Source.HeldHooks? { nil }

    /// Timers and observers belong to one loop at a time.
    final var isExclusive: Bool { kind == .timer || kind == .observer }
  }
}
