internal import Synchronization

/// Invalidating an item, and learning when the callout that runs at this moment is over.
extension RunLoop.Item {
  /// Removes the item from all modes of all loops, for good. The call does not wait for a callout that runs on another
  /// thread: `action` is called when that callout is over, and `invalidateAndWait(timeout:)` waits for its end. A
  /// second call only calls its own action.
  ///
  /// The first call releases the item's closure, which breaks a retain cycle between the item and what the closure
  /// captures. If no callout of the item runs, the closure is released before the call returns. Otherwise the thread of
  /// the callout releases it right after the callout [RLK-CLOSURE-1, RLK-CLOSURE-2, RLK-CLOSURE-4, RLK-CLOSURE-5,
  /// RLK-CLOSURE-6, RLK-CLOSURE-7]. The closure of an item that `assumeOnLoop` made is always released on its loop's
  /// thread. If another thread invalidates the item, the loop's thread releases the closure after its next callout
  /// [RLK-CLOSURE-8]. No lock is held during the release [RLK-CLOSURE-9].
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let timer = RunLoop.Timer(after: .zero, interval: .milliseconds(5)) { timer in
  ///   timer.invalidate { print("the closure will not run again") }
  ///   print("the last callout")
  ///   loop.stop()
  /// }
  /// try loop.add(timer)
  /// try loop.run()
  /// // prints the last callout
  /// // prints the closure will not run again
  /// ```
  /// - Parameter action: Called once, with no lock held, when the item's callout is not running and will not run again.
  ///   If no callout runs, this thread calls it before the return. Otherwise the thread of the last callout calls it
  ///   right after that callout, or this thread does if the callout ends meanwhile [RLK-REMOVE-4, RLK-REMOVE-5,
  ///   RLK-REMOVE-7]. In a child of fork(2) that inherited the item the call does nothing [RLK-REMOVE-14].
  /// - Re-entry: Allowed, also from the item's own callout: `action` is called after the callout has returned.
  /// - Blocks: Not on callouts. - Complexity: O(modes).
  /// - SeeAlso: `CFRunLoopSourceInvalidate`, `CFRunLoopTimerInvalidate`, `CFRunLoopObserverInvalidate`.
  public final func invalidate(finally action: (@Sendable () -> Void)? = nil) {
    if let action { return invalidate(calling: action) }
    guard !isForked, validity.exchange(false, ordering: .sequentiallyConsistent) else { return }
    let owner = closureOwner
    willLeave()
    leaveLoops()
    endBelongings()
    RunLoop.endClosure(of: self, owner)
  }

  /// Invalidates the item, and returns when no thread runs its callout. The callout will not run again [RLK-REMOVE-1,
  /// RLK-REMOVE-6].
  ///
  /// Keep what the callout uses until the call returns. The closure is released as by `invalidate(finally:)`. Two
  /// callouts that remove each other's items in this way wait for each other for ever: pass a timeout, or use
  /// `invalidate(finally:)` [RLK-REMOVE-8].
  ///
  /// ```swift
  /// let worker = RunLoop.Thread(name: "worker")
  /// try worker.start()
  /// let timer = RunLoop.Timer(after: .zero, interval: .milliseconds(1)) { _ in }
  /// try worker.loop?.add(timer)
  /// try timer.invalidateAndWait()  // now no thread runs the closure
  /// print(timer.isValid)  // prints false
  /// ```
  /// - Parameter timeout: How long to wait. With zero or less, the call does not wait; with nil, it waits until the
  ///   callout ends.
  /// - Throws: A `RunLoopError`: `.wouldDeadlock` from inside the item's own callout, also from runs nested in it; the
  ///   call has done nothing then [RLK-REMOVE-2]. `.timedOut` if a callout of the item still runs; the item is invalid
  ///   then. `.forked` in a child of fork(2).
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
    let (loops, isFirst) = endMemberships()
    defer { if isFirst { RunLoop.endClosure(of: self, owner) } }
    for loop in loops {
      guard loop.callouts.wait(for: item, on: loop, deadline) else { throw RunLoopError.timedOut }
    }
  }

  /// `invalidate(finally:)` with an action.
  final func invalidate(calling action: @escaping @Sendable () -> Void) {
    guard !isForked else { return }
    let call = FinalCall(action)
    let owner = closureOwner
    let (loops, isFirst) = endMemberships()
    for loop in loops { loop.callouts.announce(call, after: ObjectIdentifier(self), on: loop) }
    call.endAwaited()
    if isFirst { RunLoop.endClosure(of: self, owner) }
  }

  /// Invalidates the item and ends its memberships, but keeps its closure. Returns the loops on whose stacks its
  /// callout may be, and whether this is the first call. After the return no callout of the item begins.
  private final func endMemberships() -> (loops: [RunLoop], isFirst: Bool) {
    let isFirst = validity.exchange(false, ordering: .sequentiallyConsistent)
    // Reads the links before `LeftInCallout`. A thread that removes a link while the item's callout runs also enters
    // the item there, under the same leaf lock, so one of the two reads finds the loop.
    var loops = withLinks { $0.loops }
    for loop in LeftInCallout.loops(of: ObjectIdentifier(self)) where !loops.contains(where: { $0 === loop }) {
      loops.append(loop)
    }
    if isFirst { willLeave() }
    for loop in loops { loop.detach(self) }
    if isFirst { endBelongings() }
    return (loops, isFirst)
  }

  /// Ends what must not outlive the item's memberships. Called once, after the invalid item has left its modes.
  final func endBelongings() {
    hasLeft()
    descriptors?.end()
  }

  /// Removes the invalid item from all its loops.
  final func leaveLoops() {
    var others: [RunLoop]?
    let loop: HeldLoop? = withLinks { links in
      if links.hasOthers { others = links.otherLoops }
      // `HeldLoop` keeps the loop alive, since another thread may remove the link.
      guard let loop = links.firstLoop else { return nil }
      return HeldLoop(loop)
    }
    loop?.call { $0.detach(self) }
    if let others { for loop in others { loop.detach(self) } }
  }
}
