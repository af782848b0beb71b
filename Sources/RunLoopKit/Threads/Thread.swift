extension RunLoop {
  /// A thread that lives to serve its loop: it runs the default mode until `stop(_:)` is called.
  ///
  /// The thread retains its own state only: not this object, and of what its owner holds only what the owner's blocks
  /// capture. When the last reference to this object is released, the thread stops after due work. The release does not
  /// wait for the thread [RLK-RESIDENT-11, RLK-RESIDENT-12]. Call `join` to wait for the end. The system frees the
  /// thread's stack when the thread ends, with or without a call of `join` [RLK-RESIDENT-40].
  ///
  /// Its signal mask is the one of the thread that calls `start`: block signals there before, as for every thread.
  /// - Thread: Any, for all members.
  public final class Thread: Sendable {
    /// How a thread stops.
    public enum Ending: Sendable {
      /// After the callout that runs, and what its pass has taken up before: the blocks that the pass has begun to run,
      /// the sources that it has found signalled, the timers that it has found due, the event that its wait has found
      /// [RLK-RESIDENT-32], the jobs that waited when their executor had its turn [RLK-RESIDENT-34]. The pass takes up
      /// nothing more: what is queued after the stop, or was queued before and not taken up, is not called
      /// [RLK-RESIDENT-31]. The observers of the rest of the pass are called, and those of exit [RLK-RESIDENT-33].
      ///
      /// The passes around nested runs end in the same way, one after the other [RLK-RESIDENT-4]. What waits is
      /// released without having run [RLK-RESIDENT-3].
      case now
      /// After what was queued, signalled or due in the default mode at the moment of the stop; not after what follows
      /// from that [RLK-RESIDENT-2]. A run that a callout has nested in another mode ends first, by itself or by
      /// `.now`.
      case afterDueWork
    }

    /// Cut at a character so that it has at most 15 bytes, in the system's lists [RLK-RESIDENT-10].
    public let name: String
    private let resident: Resident

    /// A thread that is not started yet.
    ///
    /// - Parameters:
    ///   - name: For debuggers and /proc.
    ///   - stackSize: In bytes, beside the program's thread-local variables; rounded up to whole pages
    ///     [RLK-RESIDENT-42]. At least `minimumStackSize`: `start` throws if it is less. Nil: the system's default,
    ///     mostly 8 MiB. The kernel provides memory only for the pages that the thread uses.
    ///   - setUp: Called once on the thread before `start` returns, with its loop: to add its items. Released after it.
    public init(name: String, stackSize: Int? = nil, setUp: @escaping @Sendable (RunLoop) throws -> Void = { _ in }) {
      self.name = name
      resident = Resident(name: name, stackSize: stackSize, setUp: setUp)
    }

    deinit { resident.abandon() }

    /// True in a child of fork(2) that inherited the thread's handle.
    package var isForked: Bool { resident.isForked }

    /// Starts the thread, and returns when its loop accepts work.
    ///
    /// - Throws: What `setUp` has thrown. A `RunLoopError`: `.loopEnded` if it has ended its thread; in both cases the
    ///   thread is over [RLK-RESIDENT-7, RLK-RESIDENT-18]. `.alreadyStarted` also while another thread is starting it,
    ///   and after its end [RLK-RESIDENT-5]. `.system`: the stack is too small (`EINVAL`), the system has no room for
    ///   one more thread (you may start it later) [RLK-RESIDENT-9], or no descriptor for its loop. `.forked`.
    /// - Thread: Any. - Blocks: Until `setUp` has returned. - Complexity: The system's, for a thread.
    @available(*, noasync, message: "it waits for the thread's set-up: in a task, await the async form")
    public func start() throws { try resident.start() }

    /// As the synchronous form, and suspends the task until `setUp` has returned [RLK-ASYNC-5]. Cancelling the task
    /// changes nothing: the set-up goes on.
    nonisolated(nonsending) public func start() async throws { try await resident.startInTask() }

    /// The thread's loop; nil before `start` has returned, and if it has failed. It stays when the thread has ended.
    public var loop: RunLoop? { resident.currentLoop }

    /// True from the return of `start` until the thread's loop has ended.
    public var isRunning: Bool { resident.isRunning }

    /// As `performAsSource(in:block:onDrop:)` of its loop, in one mode [RLK-PERFORM-3]. A block for the default mode
    /// that is accepted runs before a stop after due work [RLK-RESIDENT-16]; after `stop(.now)`, and of other modes,
    /// what waits is released on the thread.
    ///
    /// - Throws: A `RunLoopError`: `.notStarted`; `.loopEnded` from `stop` on: late work is refused [RLK-RESIDENT-1].
    ///   `.forked`.
    public func perform(
      in mode: Mode = .default, block: sending @escaping () -> Void, onDrop: (@Sendable () -> Void)? = nil
    ) throws {
      try resident.perform(in: mode, block: block, onDrop: onDrop)
    }

    /// Tells the thread to stop, and does not wait for it. `.now` may follow `.afterDueWork` [RLK-RESIDENT-39]; else
    /// the first one counts. Nothing happens if it was not started, or has ended. While `setUp` runs it is kept for its
    /// return [RLK-RESIDENT-8]. If the system refuses the thread, the stop is over with that start [RLK-RESIDENT-41].
    ///
    /// - Re-entry: Allowed, also on the thread itself [RLK-RESIDENT-6]. - Blocks: No. - Complexity: O(1).
    public func stop(_ ending: Ending = .afterDueWork) { resident.stop(ending) }

    /// Returns when the thread is over: its loop has ended, all that it held was released. At once if it was not
    /// started.
    ///
    /// Does not stop it. Any number of threads may wait, at any time [RLK-RESIDENT-20].
    /// - Parameter timeout: How long; zero or less: not at all; nil: for ever [RLK-VALUE-1].
    /// - Throws: A `RunLoopError`: `.wouldDeadlock` on the thread itself; `.timedOut`; `.forked`.
    @available(*, noasync, message: "it blocks its thread: in a task, await the async form")
    public func join(timeout: Duration? = nil) throws { try resident.join(Deadline(timeout)) }

    /// As the synchronous form, and suspends the task until the thread is over [RLK-ASYNC-6].
    ///
    /// - Parameter timeout: How long; zero or less: not at all; nil: until the task is cancelled.
    /// - Throws: `CancellationError` if the task is cancelled, which does not stop the thread; else as the synchronous
    ///   form.
    nonisolated(nonsending) public func join(timeout: Duration? = nil) async throws {
      try await resident.joinInTask(timeout)
    }
  }
}
