internal import Synchronization

/// An action that is called once, when no callout of an item runs any more.
final class FinalCall: @unchecked Sendable {
  private let action: @Sendable () -> Void
  /// How many loops have the item's callout on their stacks, plus 1 while a thread still queries the loops. After
  /// `handOver` that 1 stands for the loop that is to make the call.
  private let awaited = Atomic<Int>(1)

  init(_ action: @escaping @Sendable () -> Void) { self.action = action }

  /// Makes the call wait for one callout more.
  func addAwaited() { awaited.add(1, ordering: .relaxed) }

  /// Called when one of the callouts, or the query, has ended. When the last of these has ended, calls the action.
  func endAwaited() {
    if awaited.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
      _ = __RUNLOOPKIT_IS_CALLING_OUT_TO_A_FINAL_CALL__(action)
    }
  }
}

extension CalloutRecord {
  /// Makes the call wait for the item's callout if that is on the loop's stack.
  func announce(_ call: FinalCall, after item: ObjectIdentifier, on loop: RunLoop) {
    guard loop.isInThisProcess else { return }
    let isAwaited = loop.lock.withLock {
      guard isOnStack(item, of: loop) else { return false }
      call.addAwaited()
      note(call, item, on: loop)
      return true
    }
    guard isAwaited else { return }
    if loop.isCurrent { return }  // the callout encloses this call
    // At the callout's end the loop's thread may have read `attention` before it changed.
    _ = ThreadCalls.barrier()
    makeFinalCalls(on: loop, only: call)
  }

  /// Has the loop's thread make the call, after its next callout or at the end of the loop. The caller must not call
  /// `endAwaited`. If the loop has ended, the call is never made.
  func handOver(_ call: FinalCall, of item: ObjectIdentifier, on loop: RunLoop) {
    guard loop.isInThisProcess else { return }
    loop.lock.withLock { if !loop.hasEnded { note(call, item, on: loop) } }
  }

  /// The caller holds the loop's lock, so the loop's thread takes the call only after `attention` has counted it.
  private func note(_ call: FinalCall, _ item: ObjectIdentifier, on loop: RunLoop) {
    loop.state.callouts.awaited.append(AwaitedCallout(item: item, call: call))
    attention.add(1, ordering: .sequentiallyConsistent)
  }

  /// Makes the calls whose callouts are over. With `only`, makes just that one, since the loop's thread makes the
  /// others.
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
    for awaited in over { awaited.call.endAwaited() }
  }
}
