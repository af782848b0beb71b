internal import Synchronization

extension RunLoop {
  /// Work that is asked for often and done once: before the loop sleeps, and when a run ends.
  ///
  /// What a layout, a cache or a log wants: mark it needed after each change, and write once what all of them have changed.
  /// A handle: the loop's modes keep it until `invalidate()`, or the end of the loop.
  /// - SeeAlso: The observer of `CATransaction`.
  public struct Commit: Sendable {
    private let core: Core
    private let observer: Observer
    private let loop: RunLoop

    /// - Parameters:
    ///   - mode: `.common`: in every common mode.
    ///   - order: Among the observers of before-waiting and exit; the default comes after most.
    ///   - flush: Called on the loop's thread, with no lock held, once for any number of `setNeeded()` before.
    /// - Throws: As `add(_:to:)`.
    public init(
      on loop: RunLoop, in mode: Mode = .common, order: Int = 2_000_000, _ flush: @escaping @Sendable () -> Void
    ) throws(RunLoopError) {
      let core = Core(flush)
      self.core = core
      self.loop = loop
      observer = Observer([.beforeWaiting, .exit], order: order) { _, _ in _ = core.flush() }
      try loop.add(observer, to: mode)
    }

    /// The loop flushes before it sleeps next. Also from within the flush: then after one more pass. If the loop does not
    /// run: when it does.
    /// - Thread: Any; also a sleeping loop flushes at once. What was changed before is seen by the flush. - Blocks: No.
    /// - Complexity: O(1); one atomic exchange if it is needed already.
    public func setNeeded() {
      if core.setNeeded() { loop.wakeForPass() }
    }

    /// True from `setNeeded()` until the flush begins.
    public var isNeeded: Bool { core.isNeeded }

    /// Flushes now, if needed. - Returns: True if it was. - Thread: The loop's own. - Throws: `.wrongThread`, `.loopEnded`,
    ///   `.forked`.
    @available(*, noasync, message: "it belongs to the loop's thread")
    @discardableResult
    public func flush() throws(RunLoopError) -> Bool {
      try loop.checkOwner("flush()")
      return core.flush()
    }

    /// No flush any more; one that is needed is dropped.
    public func invalidate() { observer.invalidate() }

    /// False once it was invalidated.
    public var isValid: Bool { observer.isValid }

    private final class Core: Sendable {
      private let needed = Atomic<Bool>(false)
      private let body: @Sendable () -> Void

      init(_ body: @escaping @Sendable () -> Void) { self.body = body }

      var isNeeded: Bool { needed.load(ordering: .relaxed) }

      /// False if it was needed already. Always an exchange: the flush that takes the mark must see what was changed before.
      func setNeeded() -> Bool { !needed.exchange(true, ordering: .acquiringAndReleasing) }

      func flush() -> Bool {
        guard isNeeded, needed.exchange(false, ordering: .acquiringAndReleasing) else { return false }
        body()
        return true
      }
    }
  }
}
