/// The idle blocks of one mode, and the observer that runs them. The observer comes after all others.
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
  /// Blocks that idle blocks have queued. They wait until something else has woken the loop.
  private var later = Row<HeldBlock>()
  /// The stack places of the runs that are calling an idle block; several if an idle block runs the loop.
  private var runs: ContiguousArray<UInt> = []
  /// Set when the loop has ended.
  private var isClosed = false

  enum Place {
    case next
    case later
  }

  /// Queues a block. Returns nil if the loop has ended; then releases the block, with no lock held.
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

  /// Refuses further blocks, and releases all that are queued, with no lock held. - Thread: The loop's own.
  func close() {
    var released = Row<HeldBlock>()
    var releasedLater = Row<HeldBlock>()
    lock.withLock {
      isClosed = true
      swap(&released, &blocks)
      swap(&releasedLater, &later)
    }
  }

  /// Called when an exception or longjmp(3) has left a run: its idle block is not on the stack any more.
  /// - Thread: The loop's own.
  func isLeft(_ run: UInt) { lock.withLock { runs.removeAll { $0 == run } } }

  fileprivate func serve(_ loop: RunLoop) {
    guard lock.withLock({ begin() }) else { return }
    if loop.isQuiet { runFirst(loop) }
    if lock.withLock({ !blocks.isEmpty }) { loop.wakeUp() }
  }

  /// Takes over the blocks of `later` if there are no others. Returns false if there are none at all.
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
