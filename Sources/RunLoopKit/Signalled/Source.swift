internal import Synchronization

extension RunLoop {
  /// A signalled source (version 0): `signal()` marks it, and the next pass of a loop that runs a mode with the source
  /// performs it.
  ///
  /// Signalling does not wake: `signal()`, then `wakeUp()`. May be in several loops; one signal is performed once
  /// [RLK-END-8]. Source: `CFRunLoopSourceRef` with a version 0 context.
  public final class Source: Item, @unchecked Sendable {
    /// Called when the source becomes, or ceases to be, a member of a mode, what makes two sources equal, and what the
    /// source is for.
    public struct Hooks: Sendable {
      /// Per loop and mode, on the thread that added it, with no lock held.
      public var schedule: (@Sendable (RunLoop, Mode) -> Void)?
      /// Per loop and mode, on the thread that removed or invalidated it, or whose loop ends.
      public var cancel: (@Sendable (RunLoop, Mode) -> Void)?
      /// Sources with equal identity and equal order are one member of a mode [RLK-ADD-5]. Nil: the object itself.
      /// `==` may be called with the identity of a source of another loop, or of none.
      /// Hashed and compared once, before the source is first added, removed or looked for, with no lock held
      /// [RLK-ADD-12]: with those that have the same hash value only, so that the cost does not grow with the number of
      /// sources [RLK-ADD-13].
      public var identity: (any Hashable & Sendable)?
      /// What the source is for, in place of the info pointer of the C model: kept until the source is destroyed, also
      /// when it is invalid before [RLK-LIFE-6]. Its words (`String(describing:)`) are in the source's description, and
      /// are asked for with no lock held [RLK-TEXT-6].
      public var context: (any Sendable)?

      /// No hooks, no context, and no equality but identity.
      public init() {}
    }

    @exclusivity(unchecked) final var body: Body
    let heldHooks: HeldHooks?
    /// 0: not signalled; else when it was signalled first, as a number that grows.
    private let signalled = Atomic<UInt64>(0)
    private static let clock = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - order: Sources of one pass are performed in this order, lower ones first.
    ///   - hooks: What is called when the source enters and leaves a mode, and its context.
    ///   - body: Called on the thread of the loop that runs, with no lock held.
    public convenience init(
      order: Int = 0, hooks: Hooks = Hooks(), _ body: @escaping @Sendable (Source) -> Void
    ) {
      self.init(order: order, hooks: hooks, onlyHost: nil, unchecked: body)
    }

    init(order: Int, hooks: Hooks, onlyHost: RunLoop?, unchecked body: @escaping (Source) -> Void) {
      self.body = Body(body)
      heldHooks = HeldHooks.make(hooks)
      super.init(.source, order: order, onlyHost: onlyHost)
      context = hooks.context
    }

    override func releaseBody() {
      var released = Body { _ in }
      swap(&body, &released)
    }

    override var hooksOfKind: HeldHooks? { heldHooks }

    /// True if its equality is more than identity.
    var hasIdentity: Bool { heldHooks?.hasIdentity ?? false }

    /// Marks the source. It stays marked until it is performed or invalidated, whatever modes it enters and leaves.
    /// Nothing happens if it is invalid. Does not wake any loop.
    ///
    /// - Thread: Any. - Blocks: No; lock-free. - SeeAlso: `CFRunLoopSourceSignal`.
    public func signal() {
      guard isValid else { return }
      // Writes also where it changes nothing: who takes the mark has then seen what every signaller published before.
      var seen = signalled.load(ordering: .relaxed)
      while true {
        let stamp = seen != 0 ? seen : Source.clock.wrappingAdd(1, ordering: .relaxed).newValue
        let (exchanged, original) = signalled.weakCompareExchange(
          expected: seen, desired: stamp, ordering: .sequentiallyConsistent)
        if exchanged { return }
        seen = original
      }
    }

    /// True from `signal()` until directly before its callout.
    public var isSignalled: Bool { signalStamp != 0 }

    var signalStamp: UInt64 {
      let stamp = signalled.load(ordering: .acquiring)
      return stamp != 0 && isValid ? stamp : 0
    }

    /// Clears the mark; true if this call did it, which is how one signal is performed by one loop.
    func takeSignal() -> Bool {
      guard isValid else { return false }
      return signalled.exchange(0, ordering: .sequentiallyConsistent) != 0
    }

    /// Which sources count as this one: those of the same number; 0: none. Asked for first with no lock held: user code
    /// is called then.
    var identityNumber: UInt { heldHooks?.number(order: order) ?? 0 }

    override func willLeave() { signalled.store(0, ordering: .sequentiallyConsistent) }

    override func isEqual(to other: Item) -> Bool {
      guard let identity = heldHooks?.identity, let theirs = other.hooks?.identity else { return false }
      var areEqual = false
      if order == other.order { __RUNLOOPKIT_IS_COMPARING_SOURCES__(identity, theirs, &areEqual) }
      return areEqual
    }

    public override func hash(into hasher: inout Hasher) {
      guard let identity = heldHooks?.identity else { return super.hash(into: &hasher) }
      _ = __RUNLOOPKIT_IS_HASHING_A_SOURCE__(identity, &hasher)
    }

    override var words: String {
      "<source\(labelText) order \(order), \(isValid ? "valid" : "invalid")\(isSignalled ? ", signalled" : "")"
        + "\(contextText)>"
    }
  }
}
