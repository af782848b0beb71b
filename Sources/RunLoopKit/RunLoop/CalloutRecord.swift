internal import Synchronization

/// Which items' callouts are on a loop's stack: what a removal with an answer has to ask.
///
/// The frequent side is one store before a callout and a store and a load after it, none of them a barrier of the processor:
/// `endCallout` clears the record and then looks for attention, in this order by a light barrier, which is the compiler's;
/// who wants to know counts itself as attention, has all threads pass a barrier (`ThreadCalls.barrier`), and then reads the
/// record. One of the two sees the other.
///
/// Where the system has no such barrier the attention is never 0, and each callout's end counts, too (`calloutHasEnded`). Both
/// sides then change one number, one after the other: who comes second sees what the first has stored before. No time has
/// a part in it. A filter that refuses membarrier(2) so is to be installed before the first loop is made; one that comes later
/// is noticed by who waits, and an end that it has missed is made up at the loop's next callout.
extension RunLoop {
  /// Under the loop's lock, or before the item's membership is checked under its leaf lock: in either case before an item
  /// could leave unseen. [loop]
  @inline(__always)
  package func beginCallout(_ item: Item) {
    calloutItem.store(UInt(bitPattern: ObjectIdentifier(item)), ordering: .releasing)
  }

  /// With no lock held. [loop]
  @inline(__always)
  package func endCallout() {
    calloutItem.store(0, ordering: .releasing)
    ThreadCalls.lightBarrier()
    if calloutAttention.load(ordering: .acquiring) != 0 { calloutHasEnded() }
  }

  /// What the attention begins with: what no barrier can bring is looked for after each callout.
  static var attentionAtFirst: Int { ThreadCalls.hasBarrier ? 0 : 1 }

  /// A nested run begins: what is to be put back when it ends. Under the lock. [loop]
  @inline(__always)
  func encloseCallout() -> UInt {
    let enclosing = calloutItem.load(ordering: .relaxed)
    if enclosing != 0 {
      state.enclosingCallouts.append(enclosing)
      calloutItem.store(0, ordering: .releasing)
    }
    return enclosing
  }

  /// Under the lock. [loop]
  @inline(__always)
  func restoreCallout(_ enclosing: UInt) {
    guard enclosing != 0 else { return }
    state.enclosingCallouts.removeLast()
    calloutItem.store(enclosing, ordering: .releasing)
  }

  /// A callout of an item inside one of another item that is not its own, if it is a member. [loop]
  func callOutNested(_ item: Item, _ body: () -> Void) {
    let enclosing = lock.withLock { encloseCallout() }
    beginCallout(item)
    if item.isValid, item.isMember(ofAnyModeOf: self) { body() }
    endCallout()
    if isInThisProcess { lock.withLock { restoreCallout(enclosing) } }
  }

  /// True while the item's callout is on this loop's stack. Under the lock.
  @inline(__always)
  func isCallingOut(_ item: ObjectIdentifier) -> Bool {
    calloutItem.load(ordering: .acquiring) == UInt(bitPattern: item)
      || (!state.enclosingCallouts.isEmpty
        && state.enclosingCallouts.contains(UInt(bitPattern: item)))
  }

  /// Tells those who wait for callouts, and makes the final calls whose time has come.
  @inline(never)
  func calloutHasEnded() {
    guard isInThisProcess else { return }  // the child of a callout that has forked: nobody waits here
    let attention = calloutAttention.add(0, ordering: .sequentiallyConsistent).newValue
    if attention == Self.attentionAtFirst { return }
    let gone = LeftInCallout.take(of: self)
    calloutAttention.subtract(gone, ordering: .sequentiallyConsistent)
    calloutTurn.advance()
    makeFinalCalls()
  }

  /// The thread has ended, perhaps in a callout. After the end of the loop.
  func endAllCallouts() {
    lock.withLock {
      state.enclosingCallouts = []
      calloutItem.store(0, ordering: .releasing)
    }
    if calloutAttention.load(ordering: .acquiring) != 0 { calloutHasEnded() }
  }
}

// MARK: Waiting

extension RunLoop {
  /// Whose callout is waited for, in words.
  private var threadWords: String { isMain ? "the main loop" : "loop \(serial)" }

  /// Then either sees what the other has done.
  private var takesTurnsWithCaller: Bool {
    guard let turns = kernel?.turns else { return false }
    return turns === Kernel.current?.turns
  }

  /// Returns when the item's callout is not on this loop's stack; it is invalid, so that none begins. False: out of time.
  func waitForCallout(of item: ObjectIdentifier, _ deadline: Deadline) -> Bool {
    guard isInThisProcess, lock.withLock({ isCallingOut(item) }) else { return true }
    calloutAttention.add(1, ordering: .sequentiallyConsistent)
    defer { calloutAttention.subtract(1, ordering: .sequentiallyConsistent) }
    let isSeen = ThreadCalls.barrier() || !ThreadCalls.hasBarrier || takesTurnsWithCaller
    while true {
      let turn = calloutTurn.load()
      guard lock.withLock({ isCallingOut(item) }) else { return true }
      // An end that may have missed the attention is looked for again and again; else it advances the turn.
      let isOver = calloutTurn.wait(
        while: turn, isSeen ? deadline : deadline.orSoon, for: "the end of a callout on \(threadWords)")
      guard isOver || !deadline.hasPassed else { return false }
    }
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

extension RunLoop {
  struct AwaitedCallout {
    let item: ObjectIdentifier
    let call: FinalCall
  }

  /// The call waits for the callout of the item on this loop's stack, if there is one.
  func announce(_ call: FinalCall, afterCalloutOf item: ObjectIdentifier) {
    guard isInThisProcess else { return }
    let isAwaited = lock.withLock {
      guard isCallingOut(item) else { return false }
      state.awaitedCallouts.append(AwaitedCallout(item: item, call: call))
      call.isAwaited()
      return true
    }
    guard isAwaited else { return }
    calloutAttention.add(1, ordering: .sequentiallyConsistent)
    if isCurrent { return }  // the callout encloses this call
    // The callout may have ended without having seen this.
    _ = ThreadCalls.barrier()
    makeFinalCalls(only: call)
  }

  /// The call is made on the loop's thread, after a callout there, or at the end of the loop. Nothing if that has come.
  func handOver(_ call: FinalCall, of item: ObjectIdentifier) {
    guard isInThisProcess else { return }
    lock.withLock {
      guard !hasEnded else { return }
      state.awaitedCallouts.append(AwaitedCallout(item: item, call: call))
      call.isAwaited()
      calloutAttention.add(1, ordering: .sequentiallyConsistent)
    }
  }

  /// Of the callouts that are over; `only`: another thread's calls are not this one's to make.
  private func makeFinalCalls(only wanted: FinalCall? = nil) {
    var over: [AwaitedCallout] = []
    lock.withLock {
      guard !state.awaitedCallouts.isEmpty else { return }
      var kept: ContiguousArray<AwaitedCallout> = []
      for awaited in state.awaitedCallouts {
        let isOver = (wanted == nil || awaited.call === wanted) && !isCallingOut(awaited.item)
        if isOver { over.append(awaited) } else { kept.append(awaited) }
      }
      state.awaitedCallouts = kept
    }
    guard !over.isEmpty else { return }
    calloutAttention.subtract(over.count, ordering: .sequentiallyConsistent)
    for awaited in over { awaited.call.isOver() }
  }
}

// MARK: Items that have left

/// The items that have left a loop while their callout was on its stack: no membership leads to that loop any more, but a
/// removal with an answer has to ask it. An entry goes when its callout ends.
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
      loop.calloutAttention.add(1, ordering: .sequentiallyConsistent)
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
        let over = table.entries.filter { $0.loop === loop && !loop.isCallingOut($0.item) }
        if !over.isEmpty { table.entries.removeAll { $0.loop === loop && !loop.isCallingOut($0.item) } }
        table.count.store(table.entries.count, ordering: .releasing)
        return over
      }
    }
    return over.count
  }
}
