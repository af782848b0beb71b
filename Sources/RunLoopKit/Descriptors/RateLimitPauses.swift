// Pauses of items with a rate limit, in one loop.

extension RunLoop.RateLimiter {
  /// Serves the item by `body`, unless it has used up its calls: then it is paused.
  @inline(never)
  func serveWithinLimit(
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
