extension ModePointer {
  /// Serves what was found ready, each kind in its own way: recorded, timed, within its limit, and with what it owns
  /// held open. True if it was called: it may have left the mode since it became ready. [loop]
  @inline(__always)
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

  /// What the item owns stays open meanwhile, and is closed by the end of the thread if its callout ends that.
  @inline(__always)
  fileprivate func serveHeldOpen(
    _ item: RunLoop.Item, _ descriptors: ItemDescriptors, ready: UInt32, on loop: RunLoop
  ) -> Bool {
    guard let owned = descriptors.heldOwned else { return item.serve(ready: ready, in: self, of: loop) }
    // Invalidated by another thread a moment ago.
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
  fileprivate func serveRecorded(_ item: Item, ready: UInt32, in mode: ModePointer) -> Bool {
    callouts.begin(item)
    defer { callouts.end(on: self) }
    guard item.isValid, item.isMember(of: mode) else { return false }
    guard let descriptors = item.heldDescriptors else { return item.serve(ready: ready, in: mode, of: self) }
    // The item holds them as long as it lives.
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
  /// The item whose turn it is has nothing to call, and another member of the mode has: that one is served in this
  /// turn, recorded, timed and limited as in its own. Directly before `takeEvent` answers false. [loop]
  package func serveNext(_ successor: EventSource) { owner.successor = successor }
}
