internal import Synchronization

/// Removal with an answer: when a callout that runs at this moment is over.
extension RunLoop.Item {
  /// Invalidates the item and returns when its callout is not running: on no thread, and it will not run again
  /// [RLK-REMOVE-1, RLK-REMOVE-6].
  ///
  /// Until then what the callout uses must stay; after the return it can go, and the closure is released
  /// (`invalidate()`). Two callouts that remove each other's items in this way wait for each other for ever: pass a
  /// timeout, or use `invalidate(finally:)` [RLK-REMOVE-8].
  /// - Parameter timeout: How long to wait; zero or less: not at all. Nil: until the callout ends.
  /// - Throws: A `RunLoopError`: `.wouldDeadlock` from inside the item's own callout, also from runs nested in it:
  ///   nothing was done then [RLK-REMOVE-2]. `.timedOut`: the item is invalid, and one callout still runs. `.forked` in
  ///   a child of fork(2).
  /// - Thread: Any.
  /// - Blocks: While the callout runs; not at all if none does.
  /// - Complexity: O(modes); a wait costs two system calls and a barrier in all threads.
  public final func invalidateAndWait(timeout: Duration? = nil) throws {
    guard !isForked else { throw RunLoopError.forked }
    let item = ObjectIdentifier(self)
    if let own = ThreadRecord.existing?.loop, own.isInThisProcess,
      own.lock.withLock({ own.callouts.isOnStack(item, of: own) })
    {
      throw RunLoopError.wouldDeadlock(
        call: "invalidateAndWait(timeout:)",
        "the item's own callout would wait for its own end; call invalidate(finally:)")
    }
    let deadline = Deadline(timeout)
    let owner = closureOwner
    let (hosts, isFirst) = endMemberships()
    defer { if isFirst { RunLoop.endClosure(of: self, owner) } }
    for host in hosts {
      guard host.callouts.wait(for: item, on: host, deadline) else { throw RunLoopError.timedOut }
    }
  }

  /// As `invalidate(finally:)`.
  final func invalidate(calling action: @escaping @Sendable () -> Void) {
    guard !isForked else { return }
    let call = FinalCall(action)
    let owner = closureOwner
    let (hosts, isFirst) = endMemberships()
    for host in hosts { host.callouts.announce(call, after: ObjectIdentifier(self), on: host) }
    call.isOver()
    if isFirst { RunLoop.endClosure(of: self, owner) }
  }

  /// As `invalidate()`, without the closure's end. The loops on whose stacks its callout may be; after the return none
  /// begins anywhere.
  private final func endMemberships() -> (hosts: [RunLoop], isFirst: Bool) {
    let isFirst = validity.exchange(false, ordering: .sequentiallyConsistent)
    // First the links, then the table: an item that leaves is entered there before its link is gone.
    var hosts = withLinks { $0.hosts }
    for host in LeftInCallout.loops(of: ObjectIdentifier(self)) where !hosts.contains(where: { $0 === host }) {
      hosts.append(host)
    }
    if isFirst { willLeave() }
    for host in hosts { host.detach(self) }
    if isFirst { endBelongings() }
    return (hosts, isFirst)
  }
}

// MARK: The end of closures

/// The end of an item's closure. It costs a callout nothing: who invalidates finds out whether the item's callout is on
/// a stack, by the record that removals with an answer go by (CalloutRecord.swift), and leaves the closure to the
/// callout's end then.
extension RunLoop {
  /// Once: the item is invalid and has left its modes, so that no callout of it begins. With no lock held.
  @inline(__always)
  static func endClosure(of item: Item, _ owner: RunLoop?) {
    if LeftInCallout.isEmpty, item.onlyHost == nil { item.releaseBody() } else { endClosureInItsPlace(of: item, owner) }
  }

  @inline(never)
  private static func endClosureInItsPlace(of item: Item, _ owner: RunLoop?) {
    let id = ObjectIdentifier(item)
    let call = FinalCall { item.releaseBody() }
    if let onlyHost = item.onlyHost, ThreadRecord.existing?.loop?.serial != onlyHost {
      if let owner { owner.callouts.handOver(call, of: id, on: owner) }
      return call.forget()
    }
    for loop in LeftInCallout.loops(of: id) { loop.callouts.announce(call, after: id, on: loop) }
    call.isOver()
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

// MARK: Final calls

/// What is called once when no callout of an item runs any more.
final class FinalCall: @unchecked Sendable {
  private let action: @Sendable () -> Void
  /// The loops whose callouts are waited for, and one more while they are still being asked.
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
  func makeFinalCalls(on loop: RunLoop, only wanted: FinalCall? = nil) {
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
  @inline(never)
  static func insert(_ item: ObjectIdentifier, of loop: RunLoop) {
    let table = table.current(LeftInCallout.init)
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
