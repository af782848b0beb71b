internal import Synchronization

extension RunLoop {
  /// Runs actors and tasks on the loop's thread [RLK-EXEC-1].
  ///
  /// An actor's `unownedExecutor` pins it to the loop. The actor must retain the loop:
  ///
  /// ```swift
  /// actor Inbox {
  ///   nonisolated let loop = RunLoop.main
  ///   nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }
  ///   func isOnMain() -> Bool { loop.isCurrent }
  /// }
  /// print(try RunLoop.main.run { await Inbox().isOnMain() })  // prints true
  /// ```
  ///
  /// A task prefers the executor by `Task(executorPreference:)` or `withTaskExecutorPreference(_:operation:)`. If a
  /// call does not suspend the task, the task's code that belongs to no actor continues after the call without a pass
  /// in between [RLK-EXEC-16]. In every task, calls between actors of this executor need no pass either [RLK-EXEC-17].
  ///
  /// The loop performs jobs at the place of a signalled source of order 0, in the executor's modes: before it waits,
  /// after blocks. Jobs of a higher priority run first, those of one priority in the order in which they were enqueued
  /// [RLK-EXEC-3]. In one pass the loop runs at most `jobsPerPass` of them. The others follow in the next pass, after
  /// an event was served [RLK-EXEC-4], unless a job has stopped the run [RLK-EXEC-5]. A run with
  /// `returnAfterSourceHandled` returns after a pass that has run jobs. Jobs that wait keep their modes from being
  /// empty [RLK-EXEC-7].
  ///
  /// While a job runs, no other job of this executor runs, not even in a run of the loop that the job begins. Waiting
  /// jobs do not keep such a nested run going [RLK-EXEC-6]. In every callout of the loop, including those of its end,
  /// `assumeIsolated` of an actor that is pinned to the executor succeeds [RLK-EXEC-2].
  ///
  /// After the end of the loop's thread jobs still run, so that no task waits for ever. Those that waited [RLK-EXEC-9]
  /// and those that come later run one after the other on a thread named `rl-ended-loops` [RLK-EXEC-8]. Their calls on
  /// the loop throw `.loopEnded`.
  ///
  /// If an exception or longjmp(3) leaves a job, its task never resumes. The loop notices that in its next run, and
  /// then runs the other jobs (decision 0041) [RLK-EXEC-19].
  ///
  /// The executor and its loop retain each other until the loop's thread ends [RLK-EXEC-10]. `items(in:)` does not list
  /// the executor's source [RLK-EXEC-12].
  ///
  /// - Thread: Any [RLK-EXEC-11].
  /// - Complexity: A job costs no allocation in the steady state, and one write(2) if the loop sleeps.
  public final class Executor: SerialExecutor, TaskExecutor, LoopCompanion, @unchecked Sendable {
    /// How many jobs the loop runs in one pass at most.
    public static let jobsPerPass = 128

    let modes: [Mode]
    private let lock = Lock()
    /// Guarded by `lock`, like all below.
    private var jobs = JobQueue()
    /// Nil after the end of the loop's thread. Until then executor and loop retain each other.
    private var loop: RunLoop?
    /// True while the source is signalled: the loop is about to run jobs.
    private var isSignalled = false
    /// True while `runJobs` runs. Jobs that are enqueued meanwhile wait for its next call.
    private var isServing = false
    /// The stack place of the run that runs the jobs, or that has run the last ones.
    private var servingRun: UInt = 0
    private var source: Source?
    /// The task of the job that runs, if that is an actor's job or a delayed job; else 0. Stored by the executor's
    /// thread.
    private let running = Atomic<UInt>(0)
    /// The bit of `running` that says that the job has waited for its date. Addresses of tasks are even.
    private static let wasDelayed: UInt = 1
    /// Used by the executor's thread only.
    private var preferring = PreferringTasks()

    init(_ modes: [Mode], of loop: RunLoop?) {
      self.modes = modes
      self.loop = loop
    }

    /// In a child of fork(2), the executor of every inherited loop, so that jobs run in the child, too. It exists for
    /// ever, because an actor retains only its loop.
    static let ofInheritedLoops = Executor([], of: nil)

    var servesCommonModes: Bool { modes.count == 1 && modes[0] == .common }

    func serves(_ wanted: [Mode]) -> Bool { modes == wanted }

    /// Called by the Swift runtime for actors that are pinned to the executor: runs the job on the loop's thread.
    ///
    /// - Parameter job: A part of a task, up to its next suspension.
    /// - Thread: Any. - Blocks: No. Only the first job after a loop's end waits until the thread for such jobs has
    ///   started.
    public func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      if running.load(ordering: .relaxed) == job.task { hasComeBack(job.task) }
      accept(PendingJob(job, .ofActor))
    }

    /// `enqueue(_:)` of `TaskExecutor`, which the Swift runtime calls for tasks that prefer the executor [RLK-EXEC-16].
    ///
    /// - Parameter job: A part of a task that is isolated to no actor of this executor, up to its next suspension.
    /// - Thread: Any. - Blocks: No.
    @_implements(TaskExecutor,enqueue(_:)) @_disfavoredOverload
    public func enqueueOfTask(_ job: consuming ExecutorJob) {
      accept(PendingJob(UnownedJob(job), .ofTask))
    }

    /// Enqueues a job whose date has come.
    func enqueueDelayed(_ job: UnownedJob) { accept(PendingJob(job, .afterDelay)) }

    private func accept(_ job: PendingJob) {
      lock.lock()
      guard let loop, loop.isInThisProcess else {
        lock.unlock()
        return EndedLoops.run(job, of: self)
      }
      jobs.append(job)
      let isFirst = !isServing && !isSignalled
      if isFirst { signal() }
      lock.unlock()
      if isFirst { loop.wakes.word.signal() }
    }

    /// Returns the value for an actor's `unownedExecutor`. The actor must retain this object, or its loop.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// Called by the Swift runtime for tasks that prefer the executor.
    public func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

    /// The loop; nil after the end of its thread, and in a child of fork(2).
    var loopOfThisProcess: RunLoop? {
      guard let loop = lock.withLock({ loop }), loop.isInThisProcess else { return nil }
      return loop
    }

    /// True on the loop's own thread; after its end, on the thread for jobs of ended loops.
    public func isIsolatingCurrentContext() -> Bool? {
      guard let loop = loopOfThisProcess else { return EndedLoops.isCurrentThread }
      return loop.isCurrent
    }

    /// Called by the Swift runtime for `assumeIsolated` and `assertIsolated`. Ends the process with a message on any
    /// other thread.
    public func checkIsolated() {
      guard isIsolatingCurrentContext() != true else { return }
      fatalError("RunLoopKit: this is not the thread of the run loop that the actor is pinned to")
    }

    /// True while a job runs: no other job runs before that one ends.
    var isRunningJob: Bool { lock.withLock { isServing } }

    func isOf(_ wanted: RunLoop) -> Bool { lock.withLock { loop } === wanted }

    /// True if jobs wait that a run of the loop in this mode would not run.
    func hasUnservedJobs(in mode: ModePointer) -> Bool {
      lock.withLock { !jobs.isEmpty && (isServing || !serves(mode.name, isCommon: mode.isCommon)) }
    }

    func serves(_ mode: Mode, isCommon: Bool) -> Bool { modes.contains(mode) || (isCommon && modes.contains(.common)) }

    // MARK: On the executor's thread: the loop's, or after its end the thread for jobs of ended loops

    /// Runs a job to its next suspension. - Thread: The executor's.
    func run(_ pending: PendingJob) {
      let (task, job) = (pending.job.task, pending.job)
      if pending.origin == .ofTask {
        preferring.insert(task)
        return job.runSynchronously(on: asUnownedTaskExecutor())
      }
      running.store(pending.origin == .afterDelay ? task | Self.wasDelayed : task, ordering: .relaxed)
      if preferring.contains(task) {
        job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
      } else {
        job.runSynchronously(on: asUnownedSerialExecutor())
      }
      running.store(0, ordering: .relaxed)
    }

    /// Called when a job of the task that runs is enqueued. If this thread enqueues it, the runtime found that the
    /// job's executors differ from those that the task wants: see `PreferringTasks`. If another thread enqueues it,
    /// that thread has resumed the task, whose job is about to end here.
    @inline(never)
    private func hasComeBack(_ task: UInt) {
      if isIsolatingCurrentContext() == true { preferring.correct(task) }
    }

    /// True if the job has waited for its date already, and runs now. The runtime found that its task belongs to
    /// another executor and enqueued the job there, and that executor passes the job to
    /// `enqueue(_:after:tolerance:clock:)` again.
    func hasWaited(_ job: UnownedJob) -> Bool {
      running.load(ordering: .relaxed) == job.task | Self.wasDelayed && isIsolatingCurrentContext() == true
    }

    // MARK: On the loop's thread

    func join(_ loop: RunLoop) {
      // The loop, which calls the closure, retains its executors.
      let this = Unmanaged.passUnretained(self)
      let made = Source { _ in this.takeUnretainedValue().runJobs() }
      made.label = "jobs"
      made.isHidden = true
      made.keepsRunning = false
      do {
        for mode in modes { try loop.add(made, to: mode) }
      } catch {
        return  // the loop has ended, and `EndedLoops` runs the jobs
      }
      lock.withLock {
        source = made
        if !jobs.isEmpty { signal() }
      }
      loop.wakeUp()
    }

    private func runJobs() {
      lock.lock()
      guard let loop else { return lock.unlock() }
      isSignalled = false
      (isServing, servingRun) = (true, loop.placeOfRun)
      var left = min(loop.stops.isQuitting ? jobs.closedCount : jobs.count, Self.jobsPerPass)
      lock.unlock()
      let turns = loop.turns
      while left > 0, loop.isInThisProcess, let job = nextJob(turns) {
        left -= 1
        run(job)
      }
      hasServed(loop)
    }

    private func hasServed(_ loop: RunLoop) {
      lock.lock()
      isServing = false
      jobs.trim()
      let hasMore = !jobs.isEmpty
      if hasMore { signal() }
      lock.unlock()
      // Also wakes an enclosing run that is about to wait.
      if hasMore { loop.wakeUp() }
    }

    /// Called when an exception has left a run. If it left a job, the job's task never resumes; the other jobs run.
    func runWasLeft(_ run: UInt) {
      guard let loop = lock.withLock({ isServing && servingRun == run ? loop : nil }) else { return }
      running.store(0, ordering: .relaxed)
      hasServed(loop)
    }

    private func nextJob(_ turns: (any TurnTaking)?) -> PendingJob? {
      lock.withLock {
        guard let turns else { return jobs.takeFirst() }
        return jobs.takeOne(chosenBy: turns)
      }
    }

    /// Under the lock.
    private func signal() {
      guard let source else { return }  // `join` signals it
      isSignalled = true
      source.signal()
    }

    // MARK: Called by the loop

    /// 0 in a run that a job has begun, because that run runs no jobs.
    func workCount(for mode: ModePointer) -> Int {
      guard serves(mode.name, isCommon: mode.isCommon) else { return 0 }
      return lock.withLock { isServing ? 0 : jobs.count }
    }

    var workPerPass: Int { Self.jobsPerPass }

    /// Closes the queue: a job of a higher priority that comes later must not take the place of one that waits now.
    func loopQuits() { lock.withLock { jobs.close() } }

    func loopHasEnded() {
      // Under the lock, so that jobs that are enqueued later come after these.
      let ended = lock.withLock { () -> RunLoop? in
        while let job = jobs.takeFirst() { EndedLoops.queue(job, of: self) }
        source = nil
        return loop.take()
      }
      EndedLoops.serve()
      withExtendedLifetime(ended) {}
    }
  }
}
