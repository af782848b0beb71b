internal import Synchronization

/// Which items' callouts are on a loop's stack. A removal that waits for callouts queries it.
///
/// The loop's thread makes one store before a callout, and a store and a load after it. None of them is a barrier of
/// the processor. `end` clears the record and then reads `attention`; a light barrier, which binds only the compiler,
/// keeps this order. A thread that waits adds itself to `attention`, makes all threads pass a barrier
/// (`ThreadCalls.barrier`), and then reads the record. So at least one of the two threads sees what the other did.
///
/// If the system has no such barrier, `attention` is never 0, and each callout's end changes it too (`hasEnded`). Both
/// threads then change one number, so the second one sees what the first stored before. A seccomp filter that refuses
/// membarrier(2) must therefore be installed before the first loop is made. If one is installed later, a waiting thread
/// notices this and polls. A final call that the end of a callout has missed is made after the loop's next callout.
struct CalloutRecord: ~Copyable {
  /// The address of the item whose callout is the innermost on the stack; 0 if there is none, or if it is a block's.
  private let innermost = Atomic<UInt>(0)
  /// Not 0 if the end of a callout has something to do. Counts the threads that wait, the final calls, the items that
  /// left the loop in their callout, and the hosted waits that were begun in a callout.
  let attention = Atomic<Int>(CalloutRecord.attentionAtFirst)
  /// Changes at the end of a callout for which a thread may wait.
  let turn = FutexWord()

  /// Guarded by the loop's lock, in its `LoopState`.
  struct Guarded {
    /// The addresses of the items whose callouts enclose the runs on the stack, the innermost last.
    fileprivate var enclosing: ContiguousArray<UInt> = []
    var enclosingCount: Int { enclosing.count }
    /// The final calls that wait for callouts.
    var awaited: ContiguousArray<AwaitedCallout> = []
  }

  struct AwaitedCallout {
    let item: ObjectIdentifier
    let call: FinalCall
  }

  /// Records the item whose callout is next. Called under the loop's lock, or before the item's membership is checked
  /// under its leaf lock. So a thread that ends the membership sees the record, or the check finds that the membership
  /// has ended. - Thread: The loop's own.
  @inline(__always)
  func begin(_ item: RunLoop.Item) {
    innermost.store(UInt(bitPattern: ObjectIdentifier(item)), ordering: .releasing)
  }

  /// Clears the record after the callout. With no lock held. - Thread: The loop's own.
  @inline(__always)
  func end(on loop: RunLoop) {
    innermost.store(0, ordering: .releasing)
    ThreadCalls.lightBarrier()
    if attention.load(ordering: .acquiring) != 0 { hasEnded(on: loop) }
  }

  /// The first value of `attention`. Without a barrier it is 1, so that each callout's end checks for waiting threads.
  static var attentionAtFirst: Int { ThreadCalls.hasBarrier ? 0 : 1 }

  /// Called when a nested run begins. Returns what `restore` puts back when the run ends. Under the loop's lock.
  /// - Thread: The loop's own.
  @inline(__always)
  func enclose(on loop: RunLoop) -> UInt {
    let enclosing = innermost.load(ordering: .relaxed)
    if enclosing != 0 {
      loop.state.callouts.enclosing.append(enclosing)
      innermost.store(0, ordering: .releasing)
    }
    return enclosing
  }

  /// Called when a nested run ends. Under the loop's lock. - Thread: The loop's own.
  @inline(__always)
  func restore(_ enclosing: UInt, on loop: RunLoop) {
    guard enclosing != 0 else { return }
    loop.state.callouts.enclosing.removeLast()
    innermost.store(enclosing, ordering: .releasing)
  }

  /// The address that a run which begins now will restore.
  var innermostItem: UInt { innermost.load(ordering: .relaxed) }

  /// Called when the innermost run was left without a return. `callout` is the address of the item in whose callout the
  /// run began, or 0 if that callout has ended. `base` is the number of callouts that enclose the outer run. Under the
  /// loop's lock.
  /// - Thread: The loop's own.
  func endLeft(behind base: Int, _ callout: UInt, on loop: RunLoop) {
    loop.state.callouts.enclosing.removeSubrange(base...)
    innermost.store(callout, ordering: .releasing)
  }

  /// Notifies the threads that wait for callouts which were left. With no lock held. - Thread: The loop's own.
  func haveBeenLeft(on loop: RunLoop) { if attention.load(ordering: .acquiring) != 0 { notifyWaiters(on: loop) } }

  /// Makes a callout of an item inside another item's callout, if the item is valid and a member.
  /// - Thread: The loop's own.
  func callOutNested(_ item: RunLoop.Item, on loop: RunLoop, _ body: () -> Void) {
    let enclosing = loop.lock.withLock { enclose(on: loop) }
    begin(item)
    if item.isValid, item.isMember(ofAnyModeOf: loop) { body() }
    end(on: loop)
    if loop.isInThisProcess { loop.lock.withLock { restore(enclosing, on: loop) } }
  }

  /// True while the item's callout is on this loop's stack. Under the loop's lock.
  @inline(__always)
  func isOnStack(_ item: ObjectIdentifier, of loop: RunLoop) -> Bool {
    innermost.load(ordering: .acquiring) == UInt(bitPattern: item) || isEnclosing(item, on: loop)
  }

  @inline(__always)
  private func isEnclosing(_ item: ObjectIdentifier, on loop: RunLoop) -> Bool {
    !loop.state.callouts.enclosing.isEmpty && loop.state.callouts.enclosing.contains(UInt(bitPattern: item))
  }

  /// Ends the hosted waits that the callout began. Then notifies the threads that wait for callouts, and makes the
  /// final calls whose callouts are over.
  @inline(never)
  private func hasEnded(on loop: RunLoop) {
    guard loop.isInThisProcess else { return }  // the callout has forked, and this is the child: no thread waits here
    if loop.owner.hasHostedWait { loop.endHostedWaitsOfCallout() }
    notifyWaiters(on: loop)
  }

  private func notifyWaiters(on loop: RunLoop) {
    if attention.add(0, ordering: .sequentiallyConsistent).newValue == Self.attentionAtFirst { return }
    let gone = LeftInCallout.take(of: loop)
    attention.subtract(gone, ordering: .sequentiallyConsistent)
    turn.advance()
    makeFinalCalls(on: loop)
  }

  /// Called when the loop has ended with its thread, perhaps in a callout.
  func endAll(on loop: RunLoop) {
    loop.lock.withLock {
      loop.state.callouts.enclosing = []
      innermost.store(0, ordering: .releasing)
    }
    if attention.load(ordering: .acquiring) != 0 { hasEnded(on: loop) }
  }
}

// MARK: Waiting for a callout

extension CalloutRecord {
  /// Waits until the invalid item's callout is not on the loop's stack. Returns false if the deadline passes first.
  func wait(for item: ObjectIdentifier, on loop: RunLoop, _ deadline: Deadline) -> Bool {
    guard loop.isInThisProcess, loop.lock.withLock({ isOnStack(item, of: loop) }) else { return true }
    attention.add(1, ordering: .sequentiallyConsistent)
    defer { attention.subtract(1, ordering: .sequentiallyConsistent) }
    let isSeen = ThreadCalls.barrier() || !ThreadCalls.hasBarrier || loop.takesTurnsWithCaller
    while true {
      let seen = turn.load()
      guard loop.lock.withLock({ isOnStack(item, of: loop) }) else { return true }
      // Polls if the loop's thread may have read `attention` too early at the callout's end. Otherwise that end
      // advances `turn`.
      let isOver = turn.wait(
        while: seen, isSeen ? deadline : deadline.orSoon, for: "the end of a callout on \(loop.words)")
      guard isOver || !deadline.hasPassed else { return false }
    }
  }
}

extension RunLoop {
  /// The loop's name in the reason of a wait.
  fileprivate var words: String { isMain ? "the main loop" : "loop \(serial)" }

  /// True if a test's scheduler runs the loop's thread and this one in turns: each then sees what the other has done.
  fileprivate var takesTurnsWithCaller: Bool {
    guard let turns = kernel?.turns else { return false }
    return turns === Kernel.current?.turns
  }
}

// MARK: For RunLoopEvents and RunLoopPorts, which make callouts inside of those of their own items

extension RunLoop {
  /// `CalloutRecord.begin` for this loop. - Thread: The loop's own.
  package func beginCallout(_ item: Item) { callouts.begin(item) }

  /// `CalloutRecord.end` for this loop. - Thread: The loop's own.
  package func endCallout() { callouts.end(on: self) }
}
