extension RunLoop {
  /// Runs `block` once when the mode is quiet: in a pass that is about to sleep, with nothing ready, due or queued. One block
  /// a quiet pass, in order of queueing, so that whatever comes meanwhile is served first.
  ///
  /// What an idle block queues for idle waits until something else has woken the loop: work that asks for itself again runs
  /// once each time the loop has become quiet, and the loop sleeps in between. It keeps no mode from being finished.
  /// - Parameter mode: Work for the default mode waits while the loop tracks in another one; `.common` is quiet in any.
  /// - Thread: Any; wakes the loop. - Throws: `.loopEnded`, `.forked`. - Complexity: O(1); a block costs two system calls.
  public func performWhenIdle(in mode: Mode = .default, block: sending @escaping () -> Void) throws(RunLoopError) {
    try checkUsable()
    let work = lock.withLock { state.pointee.makeExtras().idleWork(for: mode) }
    try add(work.observer, to: mode)
    if work.queue.append(block, isFromLoop: isCurrent) { wakeForPass() }
  }

  /// The coming wait does not block, also that of a host whose `prepare` is notifying observers.
  func wakeForPass() {
    if isCurrent, owner.pointee.activation == nil, !owner.pointee.isHostWaiting { owner.pointee.hostedWake = .wake }
    wakeUp()
  }

  /// Nothing is ready, due or queued. Before a wait, on the loop's own thread.
  fileprivate var isQuiet: Bool {
    guard let mode = owner.pointee.activation?.pointee.mode ?? lock.withLock({ state.pointee.currentMode }) else {
      return true
    }
    if mode.pointee.portSet!.hasBatch || mode.pointee.portSet!.isReadable { return false }
    return lock.withLock {
      !state.pointee.hasBlocks(for: mode) && !isTimerDue(in: mode, soft: false)
        && !mode.pointee.sources.contains { $0.source.isSignalled }
    }
  }
}

/// The idle blocks of one mode, and the observer that runs them, behind all others.
struct IdleWork {
  let queue: IdleQueue
  let observer: RunLoop.Observer

  init() {
    let queue = IdleQueue()
    self.queue = queue
    observer = RunLoop.Observer(.beforeWaiting, order: .max) { _, _ in
      queue.serve(ThreadRecord.current.currentLoop)
    }
  }
}

final class IdleQueue: @unchecked Sendable {
  private let lock = Lock()
  private var blocks: [() -> Void] = []
  /// Queued by idle blocks: for the next time.
  private var later: [() -> Void] = []
  /// Idle blocks on the stack: one may run the loop.
  private var depth = 0

  /// False if it has to wait until something else wakes the loop.
  func append(_ block: @escaping () -> Void, isFromLoop: Bool) -> Bool {
    lock.withLock {
      let isLater = depth > 0 && isFromLoop
      if isLater { later.append(block) } else { blocks.append(block) }
      return !isLater
    }
  }

  fileprivate func serve(_ loop: RunLoop) {
    guard lock.withLock({ begin() }) else { return }
    if loop.isQuiet { runFirst(loop) }
    if lock.withLock({ !blocks.isEmpty }) { loop.wakeForPass() }
  }

  /// False if there is nothing to do.
  private func begin() -> Bool {
    if blocks.isEmpty { swap(&blocks, &later) }
    return !blocks.isEmpty
  }

  private func runFirst(_ loop: RunLoop) {
    let block = lock.withLock {
      depth += 1
      return blocks.removeFirst()
    }
    loop.count(.blocksPerformed)
    __RUNLOOPKIT_IS_CALLING_OUT_TO_A_BLOCK__(block)
    lock.withLock { depth -= 1 }
  }
}
