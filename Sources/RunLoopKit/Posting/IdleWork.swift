/// The idle blocks of one mode, and the observer that runs them, behind all others.
struct IdleWork {
  let queue: IdleQueue
  let observer: RunLoop.Observer

  init(queue: IdleQueue = IdleQueue()) {
    self.queue = queue
    observer = RunLoop.Observer(.beforeWaiting, order: .max) { _, _ in
      queue.serve(ThreadRecord.current.currentLoop)
    }
  }
}

final class IdleQueue: @unchecked Sendable {
  private let lock = Lock()
  private var blocks = Row<HeldBlock>()
  /// Queued by idle blocks: for the next time.
  private var later = Row<HeldBlock>()
  /// Where the runs lie whose idle blocks are on the stack: one may run the loop.
  private var runs: ContiguousArray<UInt> = []
  /// The loop has ended.
  private var isClosed = false

  enum Place {
    case next
    /// It has to wait until something else wakes the loop.
    case later
  }

  /// Nil if the loop has ended: the block is released here then, with no lock held.
  func append(_ block: consuming HeldBlock, isFromLoop: Bool) -> Place? {
    lock.lock()
    guard !isClosed else {
      lock.unlock()
      return nil
    }
    defer { lock.unlock() }
    guard !runs.isEmpty, isFromLoop else {
      blocks.append(consume block)
      return .next
    }
    later.append(consume block)
    return .later
  }

  /// Takes no more. The blocks are released here, with no lock held. [loop]
  func close() {
    var released = Row<HeldBlock>()
    var releasedLater = Row<HeldBlock>()
    lock.withLock {
      isClosed = true
      swap(&released, &blocks)
      swap(&releasedLater, &later)
    }
  }

  /// It has no idle block on the stack any more. [loop]
  func isLeft(_ run: UInt) { lock.withLock { runs.removeAll { $0 == run } } }

  fileprivate func serve(_ loop: RunLoop) {
    guard lock.withLock({ begin() }) else { return }
    if loop.isQuiet { runFirst(loop) }
    if lock.withLock({ !blocks.isEmpty }) { loop.wakeUp() }
  }

  /// False if there is nothing to do.
  private func begin() -> Bool {
    if blocks.isEmpty {
      blocks.trim()
      swap(&blocks, &later)
    }
    return !blocks.isEmpty
  }

  private func runFirst(_ loop: RunLoop) {
    let first = lock.withLock { () -> HeldBlock? in
      guard let block = blocks.takeFirst() else { return nil }
      runs.append(loop.innermostRun.state.at)
      return block
    }
    guard let block = first else { return }
    let timing = CalloutTiming(counting: .blocksPerformed, on: loop)
    __RUNLOOPKIT_IS_CALLING_OUT_TO_A_BLOCK__(block.body)
    lock.withLock { _ = runs.popLast() }
    timing.end(nil, .block, on: loop)
  }
}
