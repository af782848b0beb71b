internal import Synchronization

extension RunLoop {
  /// A signalled source (version 0): `signal()` marks it, and the next pass of a loop that runs a mode with the source
  /// performs it.
  ///
  /// Signalling does not wake the loop: call `signal()`, then `wakeUp()`. A source may be in several loops; only one of
  /// them performs a signal [RLK-END-8]. The counterpart of `CFRunLoopSourceRef` with a version 0 context.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let inbox = RunLoop.Source { _ in
  ///   print("there is mail")  // prints there is mail
  ///   loop.stop()
  /// }
  /// try loop.add(inbox)
  /// inbox.signal()
  /// loop.wakeUp()
  /// try loop.run()
  /// ```
  public final class Source: Item, @unchecked Sendable {
    /// What the loop calls when the source enters or leaves a mode, what makes two sources equal, and what the source
    /// is for.
    public struct Hooks: Sendable {
      /// Called for each loop and mode that the source enters, on the thread that added it, with no lock held.
      public var schedule: (@Sendable (RunLoop, Mode) -> Void)?
      /// Called for each loop and mode that the source leaves, on the thread that removed or invalidated it, or whose
      /// loop ends.
      public var cancel: (@Sendable (RunLoop, Mode) -> Void)?
      /// Sources with equal identity and equal order are one member of a mode [RLK-ADD-5]. If it is nil, the source
      /// equals only itself. RunLoopKit hashes and compares the identity once, with no lock held, before the source is
      /// first added, removed or searched for [RLK-ADD-12]. It is compared with identities of the same hash value only,
      /// so that the cost does not grow with the number of sources [RLK-ADD-13]. The sources with those identities may
      /// be in other loops, or in none.
      public var identity: (any Hashable & Sendable)?
      /// What the source is for, in place of the info pointer of the C model. It is kept until the source is destroyed,
      /// even if the source is invalidated before [RLK-LIFE-6]. The source's description contains the context's text
      /// (`String(describing:)`), which RunLoopKit makes with no lock held [RLK-TEXT-6].
      public var context: (any Sendable)?

      /// Creates hooks without functions, identity and context.
      public init() {}
    }

    @exclusivity(unchecked) final var body: Body
    let heldHooks: HeldHooks?
    /// 0 if the source is not signalled. Otherwise a number that grows from signal to signal, so that it orders sources
    /// by their first signals.
    private let signalled = Atomic<UInt64>(0)
    private static let clock = Atomic<UInt64>(0)
    #if DEBUG
      /// When the source was signalled, for a report; 0 if hints were off then. Only in debug builds, because `signal`
      /// has to read the level and the clock for it.
      private let signalledAt = Atomic<UInt64>(0)

      /// How long the signalled source has waited; nil if it is not signalled, or if that is not known.
      func waited(until now: UInt64) -> UInt64? {
        let began = signalledAt.load(ordering: .relaxed)
        return isSignalled && began != 0 && began <= now ? now - began : nil
      }
    #endif

    /// - Parameters:
    ///   - order: Sources of one pass are performed in this order, lower ones first.
    ///   - hooks: What is called when the source enters and leaves a mode, and its context.
    ///   - body: Called on the thread of the loop that runs, with no lock held.
    public convenience init(
      order: Int = 0, hooks: Hooks = Hooks(), _ body: @escaping @Sendable (Source) -> Void
    ) {
      self.init(order: order, hooks: hooks, onlyLoop: nil, unchecked: body)
    }

    init(order: Int, hooks: Hooks, onlyLoop: RunLoop?, unchecked body: @escaping (Source) -> Void) {
      self.body = Body(body)
      heldHooks = HeldHooks.make(hooks)
      super.init(.source, order: order, onlyLoop: onlyLoop)
      context = hooks.context
    }

    override func releaseBody() {
      var released = Body { _ in }
      swap(&body, &released)
    }

    override var hooksOfKind: HeldHooks? { heldHooks }

    /// Whether other sources can equal this one.
    var hasIdentity: Bool { heldHooks?.hasIdentity ?? false }

    /// Marks the source. It stays marked until it is performed or invalidated, whatever modes it enters and leaves.
    /// Nothing happens if it is invalid. Does not wake any loop.
    ///
    /// ```swift
    /// let loop = RunLoop.current
    /// let inbox = RunLoop.Source { _ in print("once") }  // prints once
    /// try loop.add(inbox, to: "mail")
    /// inbox.signal()
    /// inbox.signal()  // two signals before a pass are one
    /// try loop.run(in: "mail", for: .zero)
    /// print(inbox.isSignalled)  // prints false
    /// ```
    /// - Thread: Any. - Blocks: No; lock-free. - SeeAlso: `CFRunLoopSourceSignal`.
    public func signal() {
      guard isValid else { return explainInvalid("signal()") }
      #if DEBUG
        if !isSignalled { signalledAt.store(Diagnosis.reportsHints ? Kernel.now() : 0, ordering: .relaxed) }
      #endif
      // The exchange writes even if it changes nothing, so that the thread that takes the mark sees what each signaller
      // has published before.
      var seen = signalled.load(ordering: .relaxed)
      while true {
        let stamp = seen != 0 ? seen : Source.clock.wrappingAdd(1, ordering: .relaxed).newValue
        let (exchanged, original) = signalled.weakCompareExchange(
          expected: seen, desired: stamp, ordering: .sequentiallyConsistent)
        if exchanged { return }
        seen = original
      }
    }

    /// True from `signal()` until directly before the source's callout.
    public var isSignalled: Bool { signalStamp != 0 }

    var signalStamp: UInt64 {
      let stamp = signalled.load(ordering: .acquiring)
      return stamp != 0 && isValid ? stamp : 0
    }

    /// Clears the mark. Returns true only to the call that has cleared it, so that only one loop performs a signal.
    func takeSignal() -> Bool {
      guard isValid else { return false }
      return signalled.exchange(0, ordering: .sequentiallyConsistent) != 0
    }

    /// The number that equal sources share; 0 if no other source can equal this one. The first read calls user code, so
    /// it happens with no lock held.
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
