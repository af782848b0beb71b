// Pauses of items with a rate limit, in one loop.

extension RunLoop.RateLimiter {
  /// Serves the item by `body`. If the item has used up its calls, it is paused instead.
  @inline(never)
  func serveWithinLimit(
    _ item: RunLoop.Item, ready: UInt32, in mode: ModePointer, of loop: RunLoop, _ body: () -> Bool
  ) -> Bool {
    // The core has read a port source's message already, and reports an error alone only once. These two are delivered
    // even if the item has no calls left.
    let isLast = item.kind == .portSource || ready == PortRegistration.failed
    guard begin(now: Kernel.now()) || isLast else {
      if let source = item as? RunLoop.FileDescriptorSource { armAgain(source, in: mode, of: loop) }
      rest(item, in: loop)
      if rest(in: loop.serial) == nil { loop.lock.withLock { item.setMuted(false, on: loop) } }
      return false
    }
    let hasHandled = body()
    if !hasHandled { takeBack() }
    rest(item, in: loop)
    return hasHandled
  }

  /// Arms a source whose calls were used up in another loop, so that the one-shot event or the hang-up that this loop
  /// has taken is delivered after the pause. The source is muted first, so this only stores the registration: epoll
  /// gets it when the source is unmuted. If epoll refuses it then, the loop tries again (`Unwatched`).
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
    // The timer retains neither the loop nor the item: the item retains the limiter, which retains the timer. Its
    // tolerance is zero, whatever the loop's default is, because the pause is to end with the period.
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

  /// Adds the timer to the item's modes of the loop, and mutes the item. Returns false if the timer cannot be added;
  /// then the item is not paused. If the callout has removed the item, the pause holds in the modes to which the item
  /// is added afterwards. Under the lock.
  private func beginRest(_ item: RunLoop.Item, _ timer: RunLoop.Timer, in loop: RunLoop) -> Bool {
    let modes = item.withLinks { links in links.compactMap { $0.loop === loop ? $0.mode : nil } }
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

  /// Ends the item's pause. Returns false if the item was not paused.
  @discardableResult
  private func endRest(of item: RunLoop.Item, in loop: RunLoop) -> Bool {
    guard let timer = endRest(in: loop.serial) else { return false }
    timer.invalidate()
    loop.lock.withLock { item.setMuted(false, on: loop) }
    return true
  }
}
