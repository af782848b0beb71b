extension RunLoop {
  /// A thread that runs the default mode of its loop until `stop(_:)` is called.
  ///
  /// The thread retains neither this object nor its owner, only what the owner's blocks capture. When the last
  /// reference to this object is released, the thread stops after due work. The release does not wait for the thread
  /// [RLK-RESIDENT-11, RLK-RESIDENT-12]. Call `join` to wait for the end. The system frees the thread's stack when the
  /// thread ends, with or without a call of `join` [RLK-RESIDENT-40].
  ///
  /// The thread inherits the signal mask of the thread that calls `start`: block signals there before the call.
  ///
  /// ```swift
  /// let worker = RunLoop.Thread(name: "worker") { loop in
  ///   try loop.add(RunLoop.Timer(after: .zero) { _ in print("on the worker") })  // prints on the worker
  /// }
  /// try worker.start()
  /// worker.stop()  // after what is due
  /// try worker.join()
  /// ```
  /// - Thread: Any, for all members.
  public final class Thread: Sendable {
    /// How a thread stops.
    public enum Ending: Sendable {
      /// The thread stops after the callout that runs, and after what its pass has taken up before the stop. A pass has
      /// taken up the blocks that it has taken from the queue, the sources that it has found signalled, the timers that
      /// it has found due, and the event that its wait has found [RLK-RESIDENT-32]. It has also taken up the jobs that
      /// waited when it called their executor [RLK-RESIDENT-34]. It takes up nothing else, whether that was queued
      /// before the stop or after it [RLK-RESIDENT-31]. It still calls its remaining observers, and those of exit
      /// [RLK-RESIDENT-33].
      ///
      /// If runs are nested, the passes of the outer runs end in the same way, one after the other [RLK-RESIDENT-4].
      /// Waiting blocks are released without having run [RLK-RESIDENT-3].
      case now
      /// The thread stops after it has served what was queued, signalled or due in the default mode when `stop` was
      /// called, but not what follows from that [RLK-RESIDENT-2]. A run of another mode that a callout has begun goes
      /// on until it ends by itself; `.now` ends it, too.
      case afterDueWork
    }

    /// The thread's name. Tools such as ps(1) show its first characters, at most 15 bytes [RLK-RESIDENT-10].
    public let name: String
    private let resident: Resident

    /// Creates a thread without starting it.
    ///
    /// - Parameters:
    ///   - name: Shown by debuggers and /proc.
    ///   - stackSize: In bytes, rounded up to whole pages; the program's thread-local variables come in addition
    ///     [RLK-RESIDENT-42]. `start` throws if it is less than `minimumStackSize`. Nil means the system's default,
    ///     mostly 8 MiB. The kernel provides memory only for the pages that the thread uses.
    ///   - setUp: Called once on the thread before `start` returns, with the thread's loop, to add items. Released
    ///     after that call.
    public init(name: String, stackSize: Int? = nil, setUp: @escaping @Sendable (RunLoop) throws -> Void = { _ in }) {
      self.name = name
      resident = Resident(name: name, stackSize: stackSize, setUp: setUp)
    }

    deinit { resident.abandon() }

    /// True in a child of fork(2) that inherited this object.
    package var isForked: Bool { resident.isForked }

    /// Starts the thread, and returns when its loop accepts work.
    ///
    /// - Throws: What `setUp` has thrown. A `RunLoopError`: `.loopEnded` if `setUp` has ended its thread; in both cases
    ///   the thread is over [RLK-RESIDENT-7, RLK-RESIDENT-18]. `.alreadyStarted` also while another call starts the
    ///   thread, and after the thread's end [RLK-RESIDENT-5]. `.system` if the stack is too small (`EINVAL`), the
    ///   system has no room for one more thread (you may start it later) [RLK-RESIDENT-9], or no descriptor for its
    ///   loop. `.forked`.
    /// - Thread: Any. - Blocks: Until `setUp` has returned. - Complexity: That of creating a thread.
    @available(*, noasync, message: "it blocks: in a task, or a main with a top-level await, await the async form")
    public func start() throws { try resident.start() }

    /// As the synchronous form, but suspends the task until `setUp` has returned [RLK-ASYNC-5]. Cancelling the task
    /// does not end the set-up or the wait.
    nonisolated(nonsending) public func start() async throws { try await resident.startInTask() }

    /// The thread's loop; nil before `start` has returned, and if it has failed. It stays available after the thread
    /// has ended.
    public var loop: RunLoop? { resident.currentLoop }

    /// True from the return of `start` until the thread's loop has ended.
    public var isRunning: Bool { resident.isRunning }

    /// As `performAsSource` of the thread's loop, in one mode [RLK-PERFORM-3]. An accepted block for
    /// the default mode runs before a later stop after due work [RLK-RESIDENT-16]. The thread releases blocks that
    /// still wait at `stop(.now)`, and at any stop those that wait for other modes.
    ///
    /// ```swift
    /// let worker = RunLoop.Thread(name: "worker")
    /// try worker.start()
    /// for number in 1...2 { try worker.perform { print("job", number) } }
    /// worker.stop()
    /// try worker.join()
    /// // prints job 1
    /// // prints job 2
    /// ```
    /// - Throws: A `RunLoopError`: `.notStarted`; `.loopEnded` once `stop` was called [RLK-RESIDENT-1]. Its text says
    ///   whether the thread is stopping or has ended [RLK-ERROR-15]. `.forked`.
    public func perform(
      in mode: Mode = .default, block: sending @escaping () -> Void, onDrop: (@Sendable () -> Void)? = nil
    ) throws {
      try resident.perform(in: mode, block: block, onDrop: onDrop)
    }

    /// Requests the thread's stop, and does not wait for it. `.now` may follow `.afterDueWork` [RLK-RESIDENT-39];
    /// otherwise only the first request counts. The call has no effect before `start` and after the thread's end. A
    /// stop that is requested while `setUp` runs takes effect when `setUp` has returned [RLK-RESIDENT-8]. If the system
    /// cannot create the thread, the request does not apply to a later start [RLK-RESIDENT-41].
    ///
    /// ```swift
    /// let worker = RunLoop.Thread(name: "worker")
    /// try worker.start()
    /// try worker.perform { print("accepted before the stop") }  // prints accepted before the stop
    /// worker.stop()
    /// try worker.join()
    /// print(worker.isRunning)  // prints false
    /// ```
    /// - Re-entry: Allowed, also on the thread itself [RLK-RESIDENT-6]. - Blocks: No. - Complexity: O(1).
    public func stop(_ ending: Ending = .afterDueWork) { resident.stop(ending) }

    /// Waits until the thread is over: its loop has ended, and everything that it retained was released. Returns at
    /// once if the thread was not started.
    ///
    /// The call does not stop the thread. Any number of threads may wait, at any time [RLK-RESIDENT-20]. The caller's
    /// own loop serves nothing meanwhile: if the thread waits for that loop in `performAndWait`, both wait for ever,
    /// unless one of the two calls has a timeout. `try loop.run { try await thread.join() }` serves the loop until the
    /// thread is over.
    /// - Parameter timeout: How long the call waits. Zero or less means not at all; nil means for ever [RLK-VALUE-1].
    /// - Throws: A `RunLoopError`: `.wouldDeadlock` on the thread itself; `.timedOut`; `.forked`.
    @available(*, noasync, message: "it blocks: in a task, or a main with a top-level await, await the async form")
    public func join(timeout: Duration? = nil) throws { try resident.join(Deadline(timeout)) }

    /// As the synchronous form, but suspends the task until the thread is over [RLK-ASYNC-6].
    ///
    /// - Parameter timeout: How long the call waits. Zero or less means not at all; nil means until the task is
    ///   cancelled.
    /// - Throws: `CancellationError` if the task is cancelled, which does not stop the thread; otherwise the errors of
    ///   the synchronous form.
    nonisolated(nonsending) public func join(timeout: Duration? = nil) async throws {
      try await resident.joinInTask(timeout)
    }
  }
}
