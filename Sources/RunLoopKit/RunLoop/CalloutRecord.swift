internal import Synchronization

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
/// comes later is noticed by who waits, and an end that it has missed is made up at the loop's next callout.
struct CalloutRecord: ~Copyable {
  /// The item whose callout is the innermost one on the stack, by address; 0: none, or a block's.
  private let innermost = Atomic<UInt>(0)
  /// How many want to know when callouts end.
  let attention = Atomic<Int>(CalloutRecord.attentionAtFirst)
  /// Changes when a callout has ended that somebody wants to know of.
  private let turn = FutexWord()

  /// Guarded by the loop's lock, in its `LoopState`.
  struct Guarded {
    /// The items whose callouts enclose the runs on the stack, by address, the innermost one's last.
    fileprivate var enclosing: ContiguousArray<UInt> = []
    /// What is called when callouts have ended.
    fileprivate var awaited: ContiguousArray<AwaitedCallout> = []
  }

  fileprivate struct AwaitedCallout {
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

  /// Tells those who wait for callouts, and makes the final calls whose time has come.
  @inline(never)
  private func hasEnded(on loop: RunLoop) {
    guard loop.isInThisProcess else { return }  // the child of a callout that has forked: nobody waits here
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

// MARK: Waiting

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

// MARK: Final calls

/// What is called once when no callout of an item runs any more.
final class FinalCall: @unchecked Sendable {
  private let action: @Sendable () -> Void
  /// The loops whose callouts are waited for, and one for whoever still asks them.
  private let awaited = Atomic<Int>(1)

  init(_ action: @escaping @Sendable () -> Void) { self.action = action }

  func isAwaited() { awaited.add(1, ordering: .relaxed) }

  /// Who asked the loops makes it in no case.
  func forget() { awaited.subtract(1, ordering: .acquiringAndReleasing) }

  func isOver() {
    if awaited.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
      _ = __RUNLOOPKIT_IS_CALLING_OUT_TO_A_FINAL_CALL__(action)
    }
  }
}

extension CalloutRecord {
  /// The call waits for the callout of the item on the loop's stack, if there is one.
  func announce(_ call: FinalCall, after item: ObjectIdentifier, on loop: RunLoop) {
    guard loop.isInThisProcess else { return }
    let isAwaited = loop.lock.withLock {
      guard isOnStack(item, of: loop) else { return false }
      note(call, item, on: loop)
      return true
    }
    guard isAwaited else { return }
    attention.add(1, ordering: .sequentiallyConsistent)
    if loop.isCurrent { return }  // the callout encloses this call
    // The callout may have ended without having seen this.
    _ = ThreadCalls.barrier()
    makeFinalCalls(on: loop, only: call)
  }

  /// The call is made on the loop's thread, after a callout there, or at the end of the loop. Nothing if that has come.
  func handOver(_ call: FinalCall, of item: ObjectIdentifier, on loop: RunLoop) {
    guard loop.isInThisProcess else { return }
    loop.lock.withLock {
      guard !loop.hasEnded else { return }
      note(call, item, on: loop)
      attention.add(1, ordering: .sequentiallyConsistent)
    }
  }

  private func note(_ call: FinalCall, _ item: ObjectIdentifier, on loop: RunLoop) {
    loop.state.callouts.awaited.append(AwaitedCallout(item: item, call: call))
    call.isAwaited()
  }

  /// Of the callouts that are over; `only`: another thread's calls are not this one's to make.
  private func makeFinalCalls(on loop: RunLoop, only wanted: FinalCall? = nil) {
    var over: [AwaitedCallout] = []
    loop.lock.withLock {
      guard !loop.state.callouts.awaited.isEmpty else { return }
      var kept: ContiguousArray<AwaitedCallout> = []
      for awaited in loop.state.callouts.awaited {
        let isOver = (wanted == nil || awaited.call === wanted) && !isOnStack(awaited.item, of: loop)
        if isOver { over.append(awaited) } else { kept.append(awaited) }
      }
      loop.state.callouts.awaited = kept
    }
    guard !over.isEmpty else { return }
    attention.subtract(over.count, ordering: .sequentiallyConsistent)
    for awaited in over { awaited.call.isOver() }
  }
}

// MARK: Of the wings, which make callouts inside of those of their own items

extension RunLoop {
  /// As `CalloutRecord.begin`. [loop]
  package func beginCallout(_ item: Item) { callouts.begin(item) }

  /// As `CalloutRecord.end`. [loop]
  package func endCallout() { callouts.end(on: self) }
}

// MARK: Items that have left

/// The items that have left a loop while their callout was on its stack: no membership leads to that loop any more, but
/// a removal with an answer has to ask it. An entry goes when its callout ends.
final class LeftInCallout: ProcessWideObject {
  private let lock = Lock()
  var forkGeneration: UInt32 { lock.forkGeneration }
  /// Of the entries, to pass by an empty table.
  private let count = Atomic<Int>(0)
  private nonisolated(unsafe) var entries: ContiguousArray<Entry> = []

  private struct Entry {
    let item: ObjectIdentifier
    let loop: RunLoop
  }

  private static let table = ProcessWide<LeftInCallout>()

  /// True if no item has left a loop in its callout, that the calling thread could know of. No lock.
  @inline(__always)
  static var isEmpty: Bool { !table.isMade || isFoundEmpty }

  /// Apart, so that who finds no table saves fewer registers.
  @inline(never)
  private static var isFoundEmpty: Bool { (table.existing?.count.load(ordering: .acquiring) ?? 0) == 0 }

  /// Under the loop's and the item's locks, in one section with the end of the membership.
  static func insert(_ item: ObjectIdentifier, of loop: RunLoop) {
    let table = table.current
    table.lock.withLock {
      guard !table.entries.contains(where: { $0.item == item && $0.loop === loop }) else { return }
      table.entries.append(Entry(item: item, loop: loop))
      table.count.store(table.entries.count, ordering: .releasing)
      loop.callouts.attention.add(1, ordering: .sequentiallyConsistent)
    }
  }

  /// The loops that have the item's callout, or had it a moment ago.
  static func loops(of item: ObjectIdentifier) -> [RunLoop] {
    guard let table = table.existing else { return [] }
    return table.lock.withLock { table.entries.filter { $0.item == item }.map(\.loop) }
  }

  /// Takes out what has no callout on the loop's stack any more; how many. [loop]
  static func take(of loop: RunLoop) -> Int {
    guard let table = table.existing else { return 0 }
    let over = loop.lock.withLock {
      table.lock.withLock {
        let over = table.entries.filter { $0.loop === loop && !loop.callouts.isOnStack($0.item, of: loop) }
        if !over.isEmpty { table.entries.removeAll { $0.loop === loop && !loop.callouts.isOnStack($0.item, of: loop) } }
        table.count.store(table.entries.count, ordering: .releasing)
        return over
      }
    }
    return over.count
  }
}
