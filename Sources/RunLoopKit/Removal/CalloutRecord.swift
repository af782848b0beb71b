internal import Synchronization

// What goes around each callout of a loop: the record of whose it is, and its time.

/// Which items' callouts are on a loop's stack: what a removal with an answer has to ask.
///
/// The frequent side is one store before a callout and a store and a load after it, none of them a barrier of the
/// processor: `end` clears the record and then looks for attention, in this order by a light barrier, which is the
/// compiler's; who wants to know counts itself as attention, has all threads pass a barrier (`ThreadCalls.barrier`),
/// and then reads the record. One of the two sees the other.
///
/// Where the system has no such barrier the attention is never 0, and each callout's end counts, too (`hasEnded`). Both
/// sides then change one number, one after the other: who comes second sees what the first has stored before. No time
/// has a part in it. A filter that refuses membarrier(2) so is to be installed before the first loop is made; one that
/// is installed later is noticed by the waiting thread, and an end that it has missed is reported at the loop's next
/// callout.
struct CalloutRecord: ~Copyable {
  /// The item whose callout is the innermost one on the stack, by address; 0: none, or a block's.
  private let innermost = Atomic<UInt>(0)
  /// How many want to know when callouts end.
  let attention = Atomic<Int>(CalloutRecord.attentionAtFirst)
  /// Changes when a callout has ended that a thread waits for.
  let turn = FutexWord()

  /// Guarded by the loop's lock, in its `LoopState`.
  struct Guarded {
    /// The items whose callouts enclose the runs on the stack, by address, the innermost one's last.
    fileprivate var enclosing: ContiguousArray<UInt> = []
    var enclosingCount: Int { enclosing.count }
    /// What is called when callouts have ended.
    var awaited: ContiguousArray<AwaitedCallout> = []
  }

  struct AwaitedCallout {
    let item: ObjectIdentifier
    let call: FinalCall
  }

  /// Under the loop's lock, or before the item's membership is checked under its leaf lock: in either case before an
  /// item could leave unseen. [loop]
  @inline(__always)
  func begin(_ item: RunLoop.Item) {
    innermost.store(UInt(bitPattern: ObjectIdentifier(item)), ordering: .releasing)
  }

  /// With no lock held. [loop]
  @inline(__always)
  func end(on loop: RunLoop) {
    innermost.store(0, ordering: .releasing)
    ThreadCalls.lightBarrier()
    if attention.load(ordering: .acquiring) != 0 { hasEnded(on: loop) }
  }

  /// What the attention begins with: what no barrier can bring is looked for after each callout.
  static var attentionAtFirst: Int { ThreadCalls.hasBarrier ? 0 : 1 }

  /// A nested run begins: what is to be put back when it ends. Under the lock. [loop]
  @inline(__always)
  func enclose(on loop: RunLoop) -> UInt {
    let enclosing = innermost.load(ordering: .relaxed)
    if enclosing != 0 {
      loop.state.callouts.enclosing.append(enclosing)
      innermost.store(0, ordering: .releasing)
    }
    return enclosing
  }

  /// Under the lock. [loop]
  @inline(__always)
  func restore(_ enclosing: UInt, on loop: RunLoop) {
    guard enclosing != 0 else { return }
    loop.state.callouts.enclosing.removeLast()
    innermost.store(enclosing, ordering: .releasing)
  }

  /// Of a run that begins.
  var innermostItem: UInt { innermost.load(ordering: .relaxed) }

  /// The run that was the innermost one was left: `callout` is that in which it was begun, if that has not ended, and
  /// `base` as many as there were around it. Under the lock. [loop]
  func endLeft(behind base: Int, _ callout: UInt, on loop: RunLoop) {
    loop.state.callouts.enclosing.removeSubrange(base...)
    innermost.store(callout, ordering: .releasing)
  }

  /// Tells those who wait for them. With no lock held. [loop]
  func haveBeenLeft(on loop: RunLoop) { if attention.load(ordering: .acquiring) != 0 { tellAwaiting(on: loop) } }

  /// A callout of an item inside one of another item that is not its own, if it is a member. [loop]
  func callOutNested(_ item: RunLoop.Item, on loop: RunLoop, _ body: () -> Void) {
    let enclosing = loop.lock.withLock { enclose(on: loop) }
    begin(item)
    if item.isValid, item.isMember(ofAnyModeOf: loop) { body() }
    end(on: loop)
    if loop.isInThisProcess { loop.lock.withLock { restore(enclosing, on: loop) } }
  }

  /// True while the item's callout is on this loop's stack. Under the lock.
  @inline(__always)
  func isOnStack(_ item: ObjectIdentifier, of loop: RunLoop) -> Bool {
    innermost.load(ordering: .acquiring) == UInt(bitPattern: item) || isEnclosing(item, on: loop)
  }

  @inline(__always)
  private func isEnclosing(_ item: ObjectIdentifier, on loop: RunLoop) -> Bool {
    !loop.state.callouts.enclosing.isEmpty && loop.state.callouts.enclosing.contains(UInt(bitPattern: item))
  }

  /// The waits of hosts that the callout has begun are over. Tells those who wait for callouts, and makes the final
  /// calls whose time has come.
  @inline(never)
  private func hasEnded(on loop: RunLoop) {
    guard loop.isInThisProcess else { return }  // the child of a callout that has forked: no thread waits here
    if loop.owner.hasHostedWait { loop.endHostedWaitsOfCallout() }
    tellAwaiting(on: loop)
  }

  private func tellAwaiting(on loop: RunLoop) {
    if attention.add(0, ordering: .sequentiallyConsistent).newValue == Self.attentionAtFirst { return }
    let gone = LeftInCallout.take(of: loop)
    attention.subtract(gone, ordering: .sequentiallyConsistent)
    turn.advance()
    makeFinalCalls(on: loop)
  }

  /// The thread has ended, perhaps in a callout. After the end of the loop.
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
  /// Returns when the item's callout is not on the loop's stack; it is invalid, so that none begins. False: out of
  /// time.
  func wait(for item: ObjectIdentifier, on loop: RunLoop, _ deadline: Deadline) -> Bool {
    guard loop.isInThisProcess, loop.lock.withLock({ isOnStack(item, of: loop) }) else { return true }
    attention.add(1, ordering: .sequentiallyConsistent)
    defer { attention.subtract(1, ordering: .sequentiallyConsistent) }
    let isSeen = ThreadCalls.barrier() || !ThreadCalls.hasBarrier || loop.takesTurnsWithCaller
    while true {
      let seen = turn.load()
      guard loop.lock.withLock({ isOnStack(item, of: loop) }) else { return true }
      // An end that may have missed the attention is looked for again and again; else it advances the turn.
      let isOver = turn.wait(
        while: seen, isSeen ? deadline : deadline.orSoon, for: "the end of a callout on \(loop.words)")
      guard isOver || !deadline.hasPassed else { return false }
    }
  }
}

extension RunLoop {
  /// Whose callout is waited for.
  fileprivate var words: String { isMain ? "the main loop" : "loop \(serial)" }

  /// Then either sees what the other has done.
  fileprivate var takesTurnsWithCaller: Bool {
    guard let turns = kernel?.turns else { return false }
    return turns === Kernel.current?.turns
  }
}

// MARK: For RunLoopEvents and RunLoopPorts, which make callouts inside of those of their own items

extension RunLoop {
  /// As `CalloutRecord.begin`. [loop]
  package func beginCallout(_ item: Item) { callouts.begin(item) }

  /// As `CalloutRecord.end`. [loop]
  package func endCallout() { callouts.end(on: self) }
}
