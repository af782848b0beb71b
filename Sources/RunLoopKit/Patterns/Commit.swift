internal import Synchronization

extension RunLoop {
  /// Work that is requested often and done once: before the loop sleeps, or after everything that is ready. If it is
  /// still needed when a run ends, the loop does it then.
  ///
  /// For example a log: call `setNeeded()` after each change, and write all changes at once in the flush. This value is
  /// a handle: the loop's modes retain the commit until `invalidate()`, or the end of the loop.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let log = try RunLoop.Commit(on: loop) { print("written once") }  // prints written once
  /// for _ in 1...3 { log.setNeeded() }
  /// try loop.run(for: .milliseconds(10))
  /// ```
  /// - Thread: Any, but for `flush()`. - SeeAlso: The observer of `CATransaction`.
  public struct Commit: Sendable {
    private let core: Core
    private let observer: Observer
    /// Nil unless the moment is `.afterReady`.
    private let timer: Timer?
    private let loop: RunLoop

    /// When the loop calls a flush that is needed.
    public enum Moment: Hashable, Sendable {
      /// Before each wait of the loop, even if something is ready already. A pass serves one descriptor, so a busy loop
      /// may flush once for each ready descriptor. For work that is cheap, or must precede everything else, such as a
      /// layout.
      case beforeWaiting
      /// After everything that was ready when the flush became needed, and before what became ready later
      /// [RLK-PATTERN-6]. For expensive work that many requests can share, such as a group commit of a log. The first
      /// `setNeeded()` after a flush makes a system call.
      case afterReady
    }

    /// - Parameters:
    ///   - loop: The loop whose thread flushes.
    ///   - mode: By default every common mode, not only `.default` as for items, because a flush that becomes needed in
    ///     the tracking mode must happen in that mode.
    ///   - moment: When to flush. With `.afterReady` the commit adds a timer, which keeps the modes from being empty.
    ///   - order: The order among the observers of before-waiting and exit; by default the flush comes after most.
    ///   - file: Named by reports of a slow flush, as `line`; leave both out.
    ///   - line: The line of the call.
    ///   - flush: Called on the loop's thread, with no lock held, once for all calls of `setNeeded()` since the last
    ///     flush.
    /// - Throws: As `add(_:to:)`. After an error no part of the commit stays in the loop [RLK-PATTERN-8].
    public init(
      on loop: RunLoop, in mode: Mode = .common, at moment: Moment = .beforeWaiting, order: Int = 2_000_000,
      file: StaticString = #fileID, line: UInt = #line, _ flush: @escaping @Sendable () -> Void
    ) throws {
      let core = Core(flush)
      self.core = core
      self.loop = loop
      switch moment {
      case .beforeWaiting:
        timer = nil
        observer = Observer([.beforeWaiting, .exit], order: order) { _, _ in _ = core.flush() }
      case .afterReady:
        // Tolerance zero, whatever the loop's default tolerance is.
        timer = Timer(rearmable: .distantFuture, tolerance: .zero) { _ in _ = core.flush() }
        observer = Observer(.exit, order: order) { _, _ in _ = core.flush() }
      }
      observer.place = CallPlace(file, line)
      timer?.place = observer.place
      timer?.noteAdding()  // if the loop refuses the observer, the timer is not added
      try loop.add(observer, to: mode)
      do {
        if let timer { try loop.add(timer, to: mode) }
      } catch {
        observer.invalidate()
        throw error
      }
    }

    /// A name for the commit, which the loop's description and reports of slow callouts show. Nil at first.
    /// - Thread: Any.
    public var label: String? {
      get { observer.label }
      nonmutating set {
        observer.label = newValue
        timer?.label = newValue
      }
    }

    /// Makes the loop flush at the commit's next moment. If the flush itself calls this, the loop flushes again after
    /// one more pass. If the loop does not run, it flushes when it runs next.
    /// - Thread: Any; a sleeping loop wakes and flushes [RLK-PATTERN-1]. The flush sees all changes that were
    ///   made before this call.
    /// - Blocks: No.
    /// - Complexity: O(1); one atomic exchange if a flush is needed already.
    public func setNeeded() {
      guard core.setNeeded() else { return }
      // The timer's descriptor becomes ready now, so the loop serves it after all descriptors that are ready already.
      guard let timer else { return loop.wakeUp() }
      if timer.isValid { timer.rearm(after: .zero) }
    }

    /// True from `setNeeded()` until the flush begins.
    public var isNeeded: Bool { core.isNeeded }

    /// Flushes now, if a flush is needed.
    /// - Returns: True if it has flushed.
    /// - Thread: The loop's own.
    /// - Throws: A `RunLoopError`: `.wrongThread`, `.loopEnded`, `.forked`.
    @available(*, noasync, message: "in a task, or a main with a top-level await, await loop.performAndWait { ... }")
    @discardableResult
    public func flush() throws -> Bool {
      try loop.checkOwner("flush()")
      return core.flush()
    }

    /// Ends the commit: no further flush begins. The call does not wait for a flush that runs on the loop's thread. The
    /// closure is released at once, or after that flush.
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
      /// Nil after `end`. Guarded by `lock`.
      private var body: (@Sendable () -> Void)?

      init(_ body: @escaping @Sendable () -> Void) { self.body = body }

      func end() {
        let released = lock.withLock { body.take() }
        withExtendedLifetime(released) {}
      }

      var isNeeded: Bool { needed.load(ordering: .relaxed) }

      /// False if a flush was needed already. Always an exchange, so that the next flush sees all earlier changes.
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
  /// Creates a commit whose flush may use data of this thread, by default in every common mode.
  /// - Throws: As `Commit`'s initialiser.
  public func commit(
    in mode: RunLoop.Mode = .common, at moment: RunLoop.Commit.Moment = .beforeWaiting, order: Int = 2_000_000,
    file: StaticString = #fileID, line: UInt = #line, _ flush: @escaping () -> Void
  ) throws -> RunLoop.Commit {
    // Safe, because only this thread calls and releases the closure.
    nonisolated(unsafe) let flush = flush
    return try RunLoop.Commit(on: loop, in: mode, at: moment, order: order, file: file, line: line) { flush() }
  }
}
