extension ModePointer {
  /// Serves an item that was found ready, and times its callout. Does not call the item if it has left the mode since.
  /// True if the item or the successor that it named (`serveNext`) was called. - Thread: The loop's own.
  func serveTimed(_ item: RunLoop.Item, ready: UInt32, on loop: RunLoop) -> Bool {
    let timing = CalloutTiming(on: loop)
    let hasCalled = loop.serveRecorded(item, ready: ready, in: self)
    if hasCalled { timing.end(item, on: loop) } else { timing.end(on: loop) }
    return hasCalled || (loop.owner.successor != nil && serveSuccessor(on: loop))
  }

  @inline(never)
  private func serveSuccessor(on loop: RunLoop) -> Bool {
    guard let successor = loop.owner.successor.take() else { return false }
    return serveTimed(successor, ready: PortRegistration.readable, on: loop)
  }

  /// Serves an item while the pass holds the descriptor that the item owns. If the callout ends the thread, the end of
  /// the thread closes the descriptor.
  fileprivate func serveHeldOpen(
    _ item: RunLoop.Item, _ descriptors: ItemDescriptors, ready: UInt32, on loop: RunLoop
  ) -> Bool {
    guard let owned = descriptors.heldOwned else { return item.serve(ready: ready, in: self, of: loop) }
    // `hold` fails if another thread has just invalidated the item.
    guard owned._withUnsafeGuaranteedRef({ $0.hold() }) else { return false }
    let run = loop.innermostRun, at = run.state.at
    run.state.served = Unmanaged.passUnretained(item)
    run.state.isOwned = true
    let hasCalled = item.serve(ready: ready, in: self, of: loop)
    loop.endRuns(insideOf: at)
    run.state.isOwned = false
    owned._withUnsafeGuaranteedRef { $0.release() }
    if hasCalled, item.kind == .eventSource || item.kind == .connection { loop.count(.portCallouts) }
    return hasCalled
  }
}

extension RunLoop {
  /// Records the callout of an item (`CalloutRecord`), checks that the item is still a valid member, and serves it
  /// within its rate limit.
  fileprivate func serveRecorded(_ item: Item, ready: UInt32, in mode: ModePointer) -> Bool {
    callouts.begin(item)
    defer { callouts.end(on: self) }
    guard item.isValid, item.isMember(of: mode) else { return false }
    guard let descriptors = item.heldDescriptors else { return item.serve(ready: ready, in: mode, of: self) }
    // The item retains its descriptors as long as it lives.
    return descriptors._withUnsafeGuaranteedRef { descriptors in
      guard let limiter = descriptors.limiter else {
        return mode.serveHeldOpen(item, descriptors, ready: ready, on: self)
      }
      return limiter.serveWithinLimit(item, ready: ready, in: mode, of: self) {
        mode.serveHeldOpen(item, descriptors, ready: ready, on: self)
      }
    }
  }
}

extension RunLoop {
  /// Makes the loop serve another member of the mode in this turn. An item whose turn it is, but which has nothing to
  /// call, calls this directly before its `takeEvent` returns false. The successor is timed, recorded and limited as in
  /// a turn of its own. - Thread: The loop's own.
  package func serveNext(_ successor: EventSource) { owner.successor = successor }
}
