internal import Synchronization

extension RunLoop {
  /// Work that is asked for often and done once: before the loop sleeps, or after all that is ready; and when a run
  /// ends.
  ///
  /// What a layout, a cache or a log wants: mark it needed after each change, and write once what all of them have
  /// changed. A handle: the loop's modes keep it until `invalidate()`, or the end of the loop.
  /// - Thread: Any, but for `flush()`. - SeeAlso: The observer of `CATransaction`.
  public struct Commit: Sendable {
    private let core: Core
    private let observer: Observer
    /// For `.afterReady`.
    private let timer: Timer?
    private let loop: RunLoop

    /// When a flush that is needed comes.
    public enum Moment: Hashable, Sendable {
      /// Before the loop sleeps, or would if something were not ready: once a pass, and a pass serves one descriptor.
      /// For what is cheap, or must be done before anything else happens: a layout.
      case beforeWaiting
      /// When everything that was ready as it became needed has been served, and before what became ready later
      /// [RLK-PATTERN-6]. For what is dear and can be shared by all who are there: a group commit of a log. The first
      /// mark pays a system call.
      case afterReady
    }

    /// - Parameters:
    ///   - loop: The loop whose thread flushes.
    ///   - mode: By default every common mode, not `.default` alone as for items: what is marked while the loop runs in
    ///     the tracking mode must be flushed there.
    ///   - moment: With `.afterReady` a timer waits in the modes, and keeps them from being empty.
    ///   - order: Among the observers of before-waiting and exit; the default comes after most.
    ///   - flush: Called on the loop's thread, with no lock held, once for any number of `setNeeded()` before.
    /// - Throws: As `add(_:to:)`. The loop has nothing of the commit then [RLK-PATTERN-8].
    public init(
      on loop: RunLoop, in mode: Mode = .common, at moment: Moment = .beforeWaiting, order: Int = 2_000_000,
      _ flush: @escaping @Sendable () -> Void
    ) throws {
      let core = Core(flush)
      self.core = core
      self.loop = loop
      switch moment {
      case .beforeWaiting:
        timer = nil
        observer = Observer([.beforeWaiting, .exit], order: order) { _, _ in _ = core.flush() }
      case .afterReady:
        // Exact, whatever the loop's default is.
        timer = Timer(rearmable: .distantFuture, tolerance: .zero) { _ in _ = core.flush() }
        observer = Observer(.exit, order: order) { _, _ in _ = core.flush() }
      }
      try loop.add(observer, to: mode)
      do {
        if let timer { try loop.add(timer, to: mode) }
      } catch {
        observer.invalidate()
        throw error
      }
    }

    /// The loop flushes at the next such moment. Also from within the flush: then after one more pass. If the loop does
    /// not run: when it does.
    /// - Thread: Any; also a sleeping loop flushes at once [RLK-PATTERN-1]. What was changed before is seen by the
    ///   flush.
    /// - Blocks: No.
    /// - Complexity: O(1); one atomic exchange if it is needed already.
    public func setNeeded() {
      guard core.setNeeded() else { return }
      // A timer that is due has its place among the ready descriptors: behind those that are ready at this moment.
      if let timer { timer.rearm(after: .zero) } else { loop.wakeUp() }
    }

    /// True from `setNeeded()` until the flush begins.
    public var isNeeded: Bool { core.isNeeded }

    /// Flushes now, if needed.
    /// - Returns: True if it was.
    /// - Thread: The loop's own.
    /// - Throws: A `RunLoopError`: `.wrongThread`, `.loopEnded`, `.forked`.
    @available(*, noasync, message: "it belongs to the loop's thread: in a task, await loop.performAndWait { ... }")
    @discardableResult
    public func flush() throws -> Bool {
      try loop.checkOwner("flush()")
      return core.flush()
    }

    /// Ends the commit: a flush that is needed does not come, and the call does not wait for one that runs on the
    /// loop's thread. The closure is released, after a flush that runs.
    public func invalidate() {
      observer.invalidate()
      timer?.invalidate()
      core.end()
    }

    /// False once it was invalidated.
    public var isValid: Bool { observer.isValid }

    private final class Core: @unchecked Sendable {
      private let needed = Atomic<Bool>(false)
      private let lock = Lock()
      /// Until the end. Guarded by `lock`.
      private var body: (@Sendable () -> Void)?

      init(_ body: @escaping @Sendable () -> Void) { self.body = body }

      func end() {
        let released = lock.withLock { body.take() }
        withExtendedLifetime(released) {}
      }

      var isNeeded: Bool { needed.load(ordering: .relaxed) }

      /// False if it was needed already. Always an exchange: the flush that takes the mark must see what was changed
      /// before.
      func setNeeded() -> Bool { !needed.exchange(true, ordering: .acquiringAndReleasing) }

      func flush() -> Bool {
        guard isNeeded, needed.exchange(false, ordering: .acquiringAndReleasing) else { return false }
        guard let body = lock.withLock({ body }) else { return false }
        body()
        return true
      }
    }
  }
}

extension RunLoop.Local {
  /// A commit whose flush may use what belongs to this thread, by default in every common mode.
  /// - Throws: As `Commit`'s initialiser.
  public func commit(
    in mode: RunLoop.Mode = .common, at moment: RunLoop.Commit.Moment = .beforeWaiting, order: Int = 2_000_000,
    _ flush: @escaping () -> Void
  ) throws -> RunLoop.Commit {
    // Stays on this thread, by the same right as the closures of the other items.
    nonisolated(unsafe) let flush = flush
    return try RunLoop.Commit(on: loop, in: mode, at: moment, order: order) { flush() }
  }
}
