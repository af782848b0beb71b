internal import Synchronization

extension RunLoop.Source {
  /// The hooks of a source, and the number that equal sources share. Few sources have this object.
  final class HeldHooks: @unchecked Sendable {
    private let schedule: (@Sendable (RunLoop, RunLoop.Mode) -> Void)?
    private let cancel: (@Sendable (RunLoop, RunLoop.Mode) -> Void)?
    /// Nil if the source equals only itself.
    let identity: AnyHashable?
    let hasIdentity: Bool
    /// Both are 0 until they are known. The number becomes known after the hash.
    private let knownHash = Atomic<Int>(0)
    private let knownNumber = Atomic<UInt>(0)

    private init(_ hooks: Hooks) {
      schedule = hooks.schedule
      cancel = hooks.cancel
      identity = hooks.identity.map { AnyHashable($0) }
      hasIdentity = hooks.identity != nil
    }

    deinit {
      if knownNumber.load(ordering: .acquiring) == 0 { return }
      SourceIdentities.forget(ObjectIdentifier(self), hash: knownHash.load(ordering: .relaxed))
    }

    /// The number that equal sources share (rule 28); 0 if the source equals only itself.
    @inline(__always)
    func number(order: Int) -> UInt {
      let known = knownNumber.load(ordering: .relaxed)
      guard known == 0, let identity else { return known }
      return learnNumber(of: identity, order: order)
    }

    @inline(never)
    private func learnNumber(of identity: AnyHashable, order: Int) -> UInt {
      let hash = hash(of: identity, order: order)
      let number = SourceIdentities.number(
        of: SourceIdentities.Entry(identity: identity, order: order, owner: ObjectIdentifier(self)), hash: hash)
      knownNumber.store(number, ordering: .releasing)
      return number
    }

    /// The hash value of identity and order. The first value stays, even if the user's code returns another one later,
    /// because `forget` finds the source by it.
    private func hash(of identity: AnyHashable, order: Int) -> Int {
      let known = knownHash.load(ordering: .relaxed)
      guard known == 0 else { return known }
      var hasher = Hasher()
      hasher.combine(order)
      _ = __RUNLOOPKIT_IS_HASHING_A_SOURCE__(identity, &hasher)
      let hash = hasher.finalize() | 1
      let (isFirst, original) = knownHash.compareExchange(expected: 0, desired: hash, ordering: .relaxed)
      return isFirst ? hash : original
    }

    /// Called when the source has entered the mode, with no lock held.
    func entered(_ mode: RunLoop.Mode, of loop: RunLoop) {
      if let schedule { __RUNLOOPKIT_IS_CALLING_OUT_TO_A_HOOK_OF_A_SOURCE__(schedule, loop, mode) }
    }

    /// Called when the source has left the mode, with no lock held.
    func left(_ mode: RunLoop.Mode, of loop: RunLoop) {
      if let cancel { __RUNLOOPKIT_IS_CALLING_OUT_TO_A_HOOK_OF_A_SOURCE__(cancel, loop, mode) }
    }

    static func make(_ hooks: Hooks) -> HeldHooks? {
      if hooks.schedule == nil, hooks.cancel == nil, hooks.identity == nil { return nil }
      return HeldHooks(hooks)
    }
  }
}
