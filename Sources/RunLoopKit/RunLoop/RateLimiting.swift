// The rests of what has a limit, in one loop.

extension RunLoop.RateLimiter {
  /// Serves the item, as `body` does it, unless it was called often enough: then it rests.
  @inline(never)
  func serve(
    _ item: RunLoop.Item, ready: UInt32, in mode: ModePointer, of loop: RunLoop, _ body: () -> Bool
  ) -> Bool {
    // The message of a port source has been taken, and an error alone is told once: these are told in any case.
    let isLast = item.kind == .portSource || ready == PortRegistration.failed
    guard begin(now: Kernel.now()) || isLast else {
      // Proof: `Item.Kind`.
      if item.kind == .descriptorSource {
        armAgain(unsafeDowncast(item, to: RunLoop.FileDescriptorSource.self), in: mode, of: loop)
      }
      rest(item, in: loop)
      if rest(in: loop.serial) == nil { loop.lock.withLock { loop.setMuted(false, item) } }
      return false
    }
    let hasHandled = body()
    if !hasHandled { takeBack() }
    rest(item, in: loop)
    return hasHandled
  }

  /// It was called in another loop too often: the one shot, or the hang-up, that was taken here is told after the rest.
  /// Muted first, it is only marked: epoll hears of it when it is taken back, and may refuse it then, which is dealt
  /// with.
  private func armAgain(_ source: RunLoop.FileDescriptorSource, in mode: ModePointer, of loop: RunLoop) {
    loop.lock.withLock {
      guard let token = source.token(in: mode) else { return }
      mode.setMuted(true, source, token, on: loop)
      try? mode.ports.set?.setInterest(source.registration.interest, token: token)
    }
  }

  private func rest(_ item: RunLoop.Item, in loop: RunLoop) {
    guard item.isValid, let restEnd = restEnd(now: Kernel.now()) else { return }
    // It holds neither of them: the limiter, which the source holds, holds the timer.
    let timer = RunLoop.Timer(fireDate: RunLoop.Instant(nanoseconds: restEnd)) { [weak loop, weak item] _ in
      if let loop, let item { item.limiter?.restIsOver(item, in: loop) }
    }
    timer.keepsRunning = item.keepsRunning
    beginRest(in: loop.serial, timer)?.invalidate()
    let isResting = loop.lock.withLock { beginRest(item, timer, in: loop) }
    if !isResting { endRest(of: item, in: loop) }
    if !item.isValid { end() }
  }

  /// Under the lock. False if no timer can be made: then it does not rest. Removed in its callout, it rests where it is
  /// added.
  private func beginRest(_ item: RunLoop.Item, _ timer: RunLoop.Timer, in loop: RunLoop) -> Bool {
    let modes = item.withLinks { links in links.compactMap { $0.host === loop ? $0.mode : nil } }
    do throws(RunLoopError) {
      for mode in modes where timer.isValid { _ = try mode.insert(timer, on: loop) }
    } catch {
      return false
    }
    loop.setMuted(true, item)
    return true
  }

  private func restIsOver(_ item: RunLoop.Item, in loop: RunLoop) {
    guard endRest(of: item, in: loop), let onResume = limit.onResume else { return }
    let timing = CalloutTiming(on: loop)
    loop.callouts.callOutNested(item, on: loop) { _ = __RUNLOOPKIT_IS_TELLING_OF_A_RESUMED_ITEM__(item, onResume) }
    timing.end(item, on: loop)
  }

  /// False if it did not rest.
  @discardableResult
  private func endRest(of item: RunLoop.Item, in loop: RunLoop) -> Bool {
    guard let timer = endRest(in: loop.serial) else { return false }
    timer.invalidate()
    loop.lock.withLock { loop.setMuted(false, item) }
    return true
  }
}
