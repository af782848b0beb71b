internal import RunLoopLibc
internal import Synchronization

/// The state of a `RunLoop.Thread`, which the thread itself holds: it outlives its handle.
final class Resident: @unchecked Sendable {
  enum Phase {
    static let idle: UInt32 = 0
    static let starting: UInt32 = 1
    /// The loop takes work.
    static let running: UInt32 = 2
    /// The loop has ended.
    static let ended: UInt32 = 3
    /// A thread is about to reclaim it; after that the last phase.
    static let joining: UInt32 = 4
    static let joined: UInt32 = 5
  }

  /// The stops that were asked for; the larger one wins.
  private enum StopRequest {
    static let none: UInt8 = 0
    static let afterDueWork: UInt8 = 1
    static let now: UInt8 = 2
  }

  let name: String
  private let stackSize: Int?
  let phase = FutexWord()
  /// Changed under the lock, so that work that is accepted is queued before what ends the thread.
  private let stopRequest = Atomic<UInt8>(StopRequest.none)
  /// Guards what follows.
  let lock = Lock()
  private var setUp: (@Sendable (RunLoop) throws -> Void)?
  private var failure: (any Error)?
  private var loop: RunLoop?
  /// From the thread's first step on.
  var handle: pthread_t?
  /// The starting thread's.
  private var kernel: Kernel?
  /// Where threads take turns.
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

  /// What is accepted is queued before a `stop` that follows can be.
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
    // Refused, it is released when the lock is free again.
    var taken: HeldBlock? = consume block
    let loop = try lock.withLock { () throws(RunLoopError) -> RunLoop in
      guard let loop = self.loop else { throw seen < Phase.running ? .notStarted : .loopEnded }
      guard stopRequest.load(ordering: .relaxed) == StopRequest.none else {
        throw .toldToStop(thread: name)
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

  /// Why there is no loop, though its set-up is over.
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
        stopRequest.store(StopRequest.none, ordering: .sequentiallyConsistent)  // it was for this start
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
    // Taken over by `residentMain`; released here if no thread was made.
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

  /// On the new thread. What it holds for its set-up is gone when it serves.
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
    lock.withLock {
      self.loop = loop
      carryOutStop(loop)  // a stop that was asked for while the thread was set up
    }
    enter(Phase.running, from: Phase.starting)
    return true
  }
}

private func residentMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  // The one reference that `makeThread` has passed to pthread_create(3).
  Unmanaged<Resident>.fromOpaque(argument!).takeRetainedValue().run()
  return nil
}

// MARK: Serving and stopping

extension Resident {
  /// The thread's life. A plain `stop()` of its run ends it as well.
  private func serve(_ loop: RunLoop) {
    do {
      _ = try loop.run(in: .default, limit: RunLimit(nil), false)
    } catch {
      guard loop.isInThisProcess else { return }  // the child of a callout that has forked
      Diagnosis.warn("the thread \"\(name)\" ends: \(error)")
    }
    guard loop.isInThisProcess else { return }
    if lock.withLock({ mayServeWhatIsDue(loop) }) {
      loop.serveWhatIsDue { stopRequest.load(ordering: .sequentiallyConsistent) == StopRequest.afterDueWork }
    }
    guard loop.isInThisProcess else { return }
    lock.withLock { stopRequest.store(StopRequest.now, ordering: .sequentiallyConsistent) }
  }

  /// Under the lock: no stop that is to be now comes in between, and is forgotten.
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

  /// Carries out each requested stop once. After due work: by a block behind all that was queued before; the thread's
  /// own run comes to it, or one of the default mode that is nested in it. Under the lock.
  private func carryOutStop(_ loop: RunLoop) {
    switch stopRequest.load(ordering: .relaxed) {
    case StopRequest.now: loop.quit()
    // A loop that has ended, which alone refuses a block, has stopped.
    case StopRequest.afterDueWork: try? loop.enqueue(in: .default) { loop.quit() }
    default: break
    }
  }

  /// The last reference to the handle has gone.
  func abandon() {
    guard !isForked, phase.load() != Phase.idle else { return }
    stop(.afterDueWork)
    guard phase.load() < Phase.joining, let handle = lock.withLock({ handle }) else { return }
    pthread_detach(handle)
  }

  /// The end of the thread's loop. [loop]
  func hasEnded() {
    if !enter(Phase.ended, from: Phase.running) { enter(Phase.ended, from: Phase.starting) }
  }

  /// True if it was in the phase before. Whoever waits for that goes on.
  @discardableResult
  func enter(_ next: UInt32, from last: UInt32) -> Bool {
    guard phase.change(from: last, to: next) else { return false }
    lock.withLock { waiters.takeAll() }.forEach { $0() }
    return true
  }
}
