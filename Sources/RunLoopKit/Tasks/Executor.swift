internal import Synchronization

extension RunLoop {
  /// Runs actors and tasks on the loop's thread [RLK-EXEC-1].
  ///
  /// An actor is pinned to the loop by its `unownedExecutor`, and keeps the loop:
  ///
  /// ```swift
  /// actor Inbox {
  ///   nonisolated let loop: RunLoop
  ///   nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }
  ///   init(on loop: RunLoop) { self.loop = loop }
  /// }
  /// ```
  ///
  /// A task prefers it by `Task(executorPreference:)` or `withTaskExecutorPreference(_:operation:)`. Its code that
  /// belongs to no actor runs on without a pass between two calls that do not suspend it [RLK-EXEC-16]. So does, in
  /// every task, what actors of this executor call of each other [RLK-EXEC-17].
  ///
  /// The loop performs jobs at the place of a signalled source of order 0, in the executor's modes: before it waits,
  /// after blocks. Jobs of a higher priority run first, those of one priority in the order in which they were enqueued
  /// [RLK-EXEC-3]. In one pass the loop runs at most `jobsPerPass` of them; the others follow in the next pass, after
  /// an event was served [RLK-EXEC-4], unless a job has stopped the run [RLK-EXEC-5]. A run with
  /// `returnAfterSourceHandled` returns after such a pass. Jobs that wait keep their modes from being empty
  /// [RLK-EXEC-7].
  ///
  /// While a job runs, no other job of this executor does, not even in a run of the loop that the job nests, which
  /// those that wait do not keep from being finished [RLK-EXEC-6]. In every callout of the loop, also those of its end,
  /// `assumeIsolated` of an actor that is pinned to the executor succeeds [RLK-EXEC-2].
  ///
  /// When the loop's thread has ended, jobs still run, those that waited [RLK-EXEC-9] and those that come later, one
  /// after the other, on a thread with the name `rl-ended-loops`, so that no task waits for ever [RLK-EXEC-8]. What
  /// they call on the loop throws `.loopEnded`.
  ///
  /// If an exception or longjmp(3) leaves a job, its task never goes on. The loop runs the other jobs as soon as it has
  /// noticed that, in its next run (decision 0041) [RLK-EXEC-19].
  ///
  /// The executor and its loop retain each other until the loop's thread ends [RLK-EXEC-10]. What it has added to the
  /// modes is not among `items(in:)` [RLK-EXEC-12].
  ///
  /// - Thread: Any [RLK-EXEC-11].
  /// - Complexity: A job costs no allocation in the steady state, and one write(2) if the loop sleeps.
  public final class Executor: SerialExecutor, TaskExecutor, LoopCompanion, @unchecked Sendable {
    /// How many jobs the loop runs in one pass at most.
    public static let jobsPerPass = 128

    let modes: [Mode]
    private let lock = Lock()
    /// Guarded by `lock`, as what follows.
    private var jobs = JobQueue()
    /// Nil when its thread has ended. Until then the two hold each other.
    private var loop: RunLoop?
    /// The source is marked, or about to run: the loop will come.
    private var isSignalled = false
    /// On the loop's stack. What is enqueued meanwhile waits for its end.
    private var isServing = false
    /// The run that serves, or has served last.
    private var servingRun: UInt = 0
    private var source: Source?
    /// The task of the job that runs, unless the task has enqueued it itself; 0: none. Stored by the executor's thread
    /// alone.
    private let running = Atomic<UInt>(0)
    /// Beside its address, which is even.
    private static let wasDelayed: UInt = 1
    /// The executor's thread alone.
    @exclusivity(unchecked) private var preferring = PreferringTasks()

    init(_ modes: [Mode], of loop: RunLoop?) {
      self.modes = modes
      self.loop = loop
    }

    /// In a child of fork(2), of every loop that it has inherited: there, too, jobs run. Kept for ever, as an actor
    /// that holds the loop keeps none.
    static let ofInheritedLoops = Executor([], of: nil)

    var servesCommonModes: Bool { modes.count == 1 && modes[0] == .common }

    func serves(_ wanted: [Mode]) -> Bool { modes == wanted }

    /// Called by the Swift runtime for actors that are pinned to the executor: runs the job on the loop's thread.
    ///
    /// - Parameter job: A part of a task, up to its next suspension.
    /// - Thread: Any. - Blocks: No; the first job that comes after the loop's end waits until the thread has started
    ///   that runs such jobs.
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

    /// A job whose date has come.
    func enqueueDelayed(_ job: UnownedJob) { accept(PendingJob(job, .afterDelay)) }

    @inline(__always)
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

    /// What an actor's `unownedExecutor` answers. The actor must keep this object, or its loop.
    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// Called by the Swift runtime for tasks that prefer the executor.
    public func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

    /// Nil when its thread has ended, and in a child of fork(2).
    var loopOfThisProcess: RunLoop? {
      guard let loop = lock.withLock({ loop }), loop.isInThisProcess else { return nil }
      return loop
    }

    /// True on the loop's own thread; when that has ended, on the thread that runs what is left.
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

    /// A job of it is on the loop's stack: no other one runs before that ends.
    var isRunningJob: Bool { lock.withLock { isServing } }

    func isOf(_ wanted: RunLoop) -> Bool { lock.withLock { loop } === wanted }

    /// Of a mode of its loop. A run of it does none that wait.
    func hasUnservedJobs(in mode: ModePointer) -> Bool {
      lock.withLock { !jobs.isEmpty && (isServing || !serves(mode.name, isCommon: mode.isCommon)) }
    }

    func serves(_ mode: Mode, isCommon: Bool) -> Bool { modes.contains(mode) || (isCommon && modes.contains(.common)) }

    // MARK: On its thread: the loop's, and after that one's end the one that runs what is left

    /// Runs a job to its next suspension. [loop]
    @inline(__always)
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

    /// An actor's job that runs is enqueued. If this thread does so, the runtime has found it on other executors than
    /// its task wants: `PreferringTasks`. Another thread has resumed a job that is about to leave the stack.
    @inline(never)
    private func hasComeBack(_ task: UInt) {
      if isIsolatingCurrentContext() == true { preferring.correct(task) }
    }

    /// A job that has waited for its date, and goes on: the runtime has found it here, and enqueues it at the executor
    /// that its task belongs to, which has it wait.
    func hasWaited(_ job: UnownedJob) -> Bool {
      running.load(ordering: .relaxed) == job.task | Self.wasDelayed && isIsolatingCurrentContext() == true
    }

    // MARK: On the loop's thread

    func join(_ loop: RunLoop) {
      // The loop, which calls it, holds its companions.
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
      // Also a run that encloses this one, and is about to wait.
      if hasMore { loop.wakeUp() }
    }

    /// A job of it was left. The others go on; its task never does.
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
      guard let source else { return }  // `join` will
      isSignalled = true
      source.signal()
    }

    // MARK: Of the loop

    /// A run that a job nests does none.
    func workCount(for mode: ModePointer) -> Int {
      guard serves(mode.name, isCommon: mode.isCommon) else { return 0 }
      return lock.withLock { isServing ? 0 : jobs.count }
    }

    var workPerPass: Int { Self.jobsPerPass }

    /// A job of a higher priority that comes later would take the place of one that the turn was for.
    func loopQuits() { lock.withLock { jobs.close() } }

    func loopHasEnded() {
      // Under the lock, so that what is enqueued from now on comes behind.
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
