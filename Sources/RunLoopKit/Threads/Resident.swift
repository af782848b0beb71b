internal import RunLoopLibc
internal import Synchronization

/// The state of a `RunLoop.Thread`. The running thread retains it, so it may outlive the `RunLoop.Thread`.
final class Resident: @unchecked Sendable {
  enum Phase {
    static let idle: UInt32 = 0
    static let starting: UInt32 = 1
    /// The loop takes work.
    static let running: UInt32 = 2
    /// The loop has ended.
    static let ended: UInt32 = 3
    /// Another thread joins it with pthread_join(3).
    static let joining: UInt32 = 4
    static let joined: UInt32 = 5
  }

  /// Which stop was requested; the larger number wins.
  private enum StopRequest {
    static let none: UInt8 = 0
    static let afterDueWork: UInt8 = 1
    static let now: UInt8 = 2
  }

  let name: String
  private let stackSize: Int?
  let phase = FutexWord()
  /// Changed under the lock, so that accepted work is queued before the block that ends the thread.
  private let stopRequest = Atomic<UInt8>(StopRequest.none)
  /// Guards all fields below.
  let lock = Lock()
  private var setUp: (@Sendable (RunLoop) throws -> Void)?
  private var failure: (any Error)?
  private var loop: RunLoop?
  /// Set by the thread when it starts.
  var handle: pthread_t?
  /// The kernel table of the thread that starts this one.
  private var kernel: Kernel?
  /// The thread's place in the scheduler, under virtual time.
  var place: (any ThreadPlace)?
  /// Tasks that wait for the next phase.
  var waiters = PhaseWaiters()

  init(name: String, stackSize: Int?, setUp: @escaping @Sendable (RunLoop) throws -> Void) {
    self.name = name
    self.stackSize = stackSize
    self.setUp = setUp
  }

  var isForked: Bool { lock.forkGeneration != Kernel.forkGeneration }

  var currentLoop: RunLoop? { isForked ? nil : lock.withLock { loop } }

  var isRunning: Bool { !isForked && phase.load() == Phase.running }

  /// Posts a block. An accepted block is queued before the block of any later stop.
  func perform(
    in mode: RunLoop.Mode, block: sending @escaping () -> Void, onDrop: (@Sendable () -> Void)?
  ) throws(RunLoopError) {
    guard let onDrop else { return try perform(in: mode, HeldBlock(body: consume block)) }
    let posted = PostedBlock(HeldBlock(body: consume block), onDrop)
    do throws(RunLoopError) {
      try perform(in: mode, HeldBlock { posted.run() })
    } catch {
      posted.isRefused()
      throw error
    }
  }

  private func perform(in mode: RunLoop.Mode, _ block: consuming HeldBlock) throws(RunLoopError) {
    guard !isForked else { throw .forked }
    let seen = phase.load()
    // Keeps a refused block until the lock is free, and only then releases it.
    var taken: HeldBlock? = consume block
    let loop = try lock.withLock { () throws(RunLoopError) -> RunLoop in
      guard let loop = self.loop else { throw seen < Phase.running ? .notStarted : .loopEnded }
      guard stopRequest.load(ordering: .relaxed) == StopRequest.none else {
        throw phase.load() < Phase.ended ? .stopping(thread: name) : .ended(thread: name)
      }
      try loop.enqueueAsSource(in: mode, taking: &taken)
      return loop
    }
    loop.wakeUp()
  }
}

// MARK: Starting

extension Resident {
  func start() throws {
    try begin()
    _ = phase.wait(while: Phase.starting, .never, for: "the set-up of RunLoop.Thread \"\(name)\" (start)")
    if let failure = takeFailure() {
      try? join(.never)
      throw failure
    }
  }

  /// Returns the error if the set-up has ended without a running loop.
  func takeFailure() -> (any Error)? {
    lock.withLock { failure.take() ?? (loop == nil ? RunLoopError.loopEnded : nil) }
  }

  func begin() throws(RunLoopError) {
    guard !isForked else { throw .forked }
    guard phase.change(from: Phase.idle, to: Phase.starting) else { throw .alreadyStarted }
    do throws(RunLoopError) {
      try makeThread()
    } catch {
      let waiting = lock.withLock {
        stopRequest.store(StopRequest.none, ordering: .sequentiallyConsistent)  // it was requested for this start
        _ = phase.change(from: Phase.starting, to: Phase.idle)
        return waiters.takeAll()
      }
      waiting.forEach { $0() }
      throw error
    }
  }

  private func makeThread() throws(RunLoopError) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    if let stackSize {
      let size = try StackSize.rounded(stackSize)
      try RunLoopError.check(-pthread_attr_setstacksize(&attributes, size), "pthread_attr_setstacksize")
    }
    var made = pthread_t()
    // `residentMain` takes over this reference. If no thread was created, this function releases it.
    let held = Unmanaged.passRetained(self)
    let kernel = Kernel.current
    let place = kernel?.turns?.threadWillStart()
    lock.withLock { (self.kernel, self.place) = (kernel, place) }
    let status = pthread_create(&made, &attributes, residentMain, held.toOpaque())
    if status != 0 {
      place?.giveUp()
      held.release()
    }
    try RunLoopError.check(
      -status, "pthread_create",
      "thread \"\(name)\"\(stackSize.map { " with a stack of \($0) bytes" } ?? "")")
  }

  /// Runs on the new thread. The set-up closure is released before the loop runs.
  fileprivate func run() {
    let (kernel, place) = lock.withLock { () -> (Kernel?, (any ThreadPlace)?) in
      handle = pthread_self()
      return (self.kernel, self.place)
    }
    kernel?.enter()
    place?.begin()
    ThreadCalls.setName(name)
    let record = ThreadRecord.current
    record.whenEnded = { self.hasEnded() }
    let keeper = RunLoop.Source { _ in }
    keeper.label = "kept by RunLoop.Thread"
    if prepare(record.currentLoop, keeper) { serve(record.currentLoop) }
    keeper.invalidate()
  }

  private func prepare(_ loop: RunLoop, _ keeper: RunLoop.Source) -> Bool {
    let setUp = lock.withLock { self.setUp.take() }
    do {
      try loop.prepareDefaultMode()
      try loop.add(keeper)
      try setUp?(loop)
    } catch {
      lock.withLock { failure = error }
      return false
    }
    loop.stops.expectFirstRun()
    lock.withLock {
      self.loop = loop
      carryOutStop(loop)  // a stop that was requested during the set-up
    }
    enter(Phase.running, from: Phase.starting)
    return true
  }
}

private func residentMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  // Takes over the reference that `makeThread` has passed to pthread_create(3).
  Unmanaged<Resident>.fromOpaque(argument!).takeRetainedValue().run()
  return nil
}

// MARK: Serving and stopping

extension Resident {
  /// Runs the loop until a stop. `RunLoop.stop()` also ends the run, and with it the thread.
  private func serve(_ loop: RunLoop) {
    do {
      _ = try loop.run(in: .default, limit: RunLimit(nil), false)
    } catch {
      guard loop.isInThisProcess else { return }  // a callout has forked, and this is the child
      Diagnosis.warn("the thread \"\(name)\" ends: \(error)")
    }
    guard loop.isInThisProcess else { return }
    if lock.withLock({ mayServeWhatIsDue(loop) }) {
      loop.serveWhatIsDue { stopRequest.load(ordering: .sequentiallyConsistent) == StopRequest.afterDueWork }
    }
    guard loop.isInThisProcess else { return }
    lock.withLock { stopRequest.store(StopRequest.now, ordering: .sequentiallyConsistent) }
  }

  /// Under the lock, so that `resume` does not undo a `stop(.now)` of another thread.
  private func mayServeWhatIsDue(_ loop: RunLoop) -> Bool {
    guard stopRequest.load(ordering: .relaxed) == StopRequest.afterDueWork else { return false }
    loop.resume()
    return true
  }

  func stop(_ ending: RunLoop.Thread.Ending) {
    guard !isForked else { return }
    let wanted = ending == .now ? StopRequest.now : StopRequest.afterDueWork
    let loop = lock.withLock { () -> RunLoop? in
      guard phase.load() != Phase.idle, stopRequest.load(ordering: .relaxed) < wanted else { return nil }
      stopRequest.store(wanted, ordering: .sequentiallyConsistent)
      if let loop = self.loop { carryOutStop(loop) }
      return self.loop
    }
    loop?.wakeUp()
  }

  /// Carries out a requested stop. For a stop after due work, it queues a block behind everything that was queued
  /// before. The thread's own run calls that block, or a nested run of the default mode does. Under the lock.
  private func carryOutStop(_ loop: RunLoop) {
    switch stopRequest.load(ordering: .relaxed) {
    case StopRequest.now: loop.quit()
    // Only a loop that has ended refuses the block, and then there is nothing to stop.
    case StopRequest.afterDueWork: try? loop.enqueue(in: .default) { loop.quit() }
    default: break
    }
  }

  /// Called when the last reference to the `RunLoop.Thread` was released.
  func abandon() {
    guard !isForked, phase.load() != Phase.idle else { return }
    stop(.afterDueWork)
    guard phase.load() < Phase.joining, let handle = lock.withLock({ handle }) else { return }
    pthread_detach(handle)
  }

  /// Called when the thread's loop has ended. - Thread: The loop's own.
  func hasEnded() {
    if !enter(Phase.ended, from: Phase.running) { enter(Phase.ended, from: Phase.starting) }
  }

  /// Changes the phase and resumes the tasks that wait for a change. False if the phase was not `last`.
  @discardableResult
  func enter(_ next: UInt32, from last: UInt32) -> Bool {
    guard phase.change(from: last, to: next) else { return false }
    lock.withLock { waiters.takeAll() }.forEach { $0() }
    return true
  }
}
