extension ModePointer {
  /// Serves what was found ready, each kind in its own way: recorded, timed, within its limit, and with what it owns
  /// held open. True if it was called: it may have left the mode since it became ready. [loop]
  @inline(__always)
  func serve(_ item: RunLoop.Item, ready: UInt32, on loop: RunLoop) -> Bool {
    let timing = CalloutTiming(on: loop)
    let hasCalled = loop.serveRecorded(item, ready: ready, in: self)
    if hasCalled { timing.end(item, on: loop) } else { timing.end(on: loop) }
    return hasCalled || (loop.owner.successor != nil && serveSuccessor(on: loop))
  }

  @inline(never)
  private func serveSuccessor(on loop: RunLoop) -> Bool {
    guard let successor = loop.owner.successor.take() else { return false }
    return serve(successor, ready: PortRegistration.readable, on: loop)
  }

  /// What the item owns stays open meanwhile, and is closed by the end of the thread if its callout ends that.
  @inline(__always)
  fileprivate func serve(
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
      guard let limiter = descriptors.limiter else { return mode.serve(item, descriptors, ready: ready, on: self) }
      return limiter.serve(item, ready: ready, in: mode, of: self) {
        mode.serve(item, descriptors, ready: ready, on: self)
      }
    }
  }
}

extension RunLoop {
  /// The item whose turn it is has nothing to call, and another member of the mode has: that one is served in this
  /// turn, recorded, timed and limited as in its own. Directly before `takeEvent` answers false. [loop]
  package func serveNext(_ successor: EventSource) { owner.successor = successor }
}

// MARK: Pauses of items with a rate limit, in one loop

extension RunLoop.RateLimiter {
  /// Serves the item by `body`, unless it has used up its calls: then it is paused.
  @inline(never)
  fileprivate func serve(
    _ item: RunLoop.Item, ready: UInt32, in mode: ModePointer, of loop: RunLoop, _ body: () -> Bool
  ) -> Bool {
    // The message of a port source has been read, and an error alone is reported once: these are delivered in any case.
    let isLast = item.kind == .portSource || ready == PortRegistration.failed
    guard begin(now: Kernel.now()) || isLast else {
      // Proof: `Item.Kind`.
      if item.kind == .descriptorSource {
        armAgain(unsafeDowncast(item, to: RunLoop.FileDescriptorSource.self), in: mode, of: loop)
      }
      rest(item, in: loop)
      if rest(in: loop.serial) == nil { loop.lock.withLock { item.setMuted(false, on: loop) } }
      return false
    }
    let hasHandled = body()
    if !hasHandled { takeBack() }
    rest(item, in: loop)
    return hasHandled
  }

  /// Its calls were used up in another loop: the one-shot event, or the hang-up, that was taken here is delivered after
  /// the pause. As it is muted first, this only marks it: epoll gets the registration when it is unmuted, and may
  /// refuse it then, which the loop handles.
  private func armAgain(_ source: RunLoop.FileDescriptorSource, in mode: ModePointer, of loop: RunLoop) {
    loop.lock.withLock {
      guard let token = source.token(in: mode) else { return }
      mode.setMuted(true, source, token, on: loop)
      try? mode.ports.set?.setInterest(
        source.registration.interest, token: token, of: source.registration.fileDescriptor)
    }
  }

  private func rest(_ item: RunLoop.Item, in loop: RunLoop) {
    guard item.isValid, let restEnd = restEnd(now: Kernel.now()) else { return }
    // The timer retains neither of them: the source retains the limiter, which retains the timer. The period is the
    // limit's, whatever the loop's default is.
    let timer = RunLoop.Timer(fireDate: RunLoop.Instant(nanoseconds: restEnd), tolerance: .zero) {
      [weak loop, weak item] _ in
      if let loop, let item { item.limiter?.restIsOver(item, in: loop) }
    }
    timer.isHidden = true
    timer.keepsRunning = item.keepsRunning
    beginRest(in: loop.serial, timer)?.invalidate()
    let isResting = loop.lock.withLock { beginRest(item, timer, in: loop) }
    if !isResting { endRest(of: item, in: loop) }
    if !item.isValid { end() }
  }

  /// Under the lock. False if no timer can be created: then the item is not paused. An item that was removed in its
  /// callout is paused where it is added.
  private func beginRest(_ item: RunLoop.Item, _ timer: RunLoop.Timer, in loop: RunLoop) -> Bool {
    let modes = item.withLinks { links in links.compactMap { $0.host === loop ? $0.mode : nil } }
    do throws(RunLoopError) {
      for mode in modes where timer.isValid { _ = try mode.insert(timer, on: loop) }
    } catch {
      return false
    }
    item.setMuted(true, on: loop)
    return true
  }

  private func restIsOver(_ item: RunLoop.Item, in loop: RunLoop) {
    guard endRest(of: item, in: loop), let onResume = limit.onResume else { return }
    let timing = CalloutTiming(on: loop)
    loop.callouts.callOutNested(item, on: loop) { _ = __RUNLOOPKIT_IS_TELLING_OF_A_RESUMED_ITEM__(item, onResume) }
    timing.end(item, on: loop)
  }

  /// False if it was not paused.
  @discardableResult
  private func endRest(of item: RunLoop.Item, in loop: RunLoop) -> Bool {
    guard let timer = endRest(in: loop.serial) else { return false }
    timer.invalidate()
    loop.lock.withLock { item.setMuted(false, on: loop) }
    return true
  }
}
