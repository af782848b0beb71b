extension RunLoop {
  /// As `serve`, for a source with a limit.
  @inline(never)
  func serve(
    _ item: Item, ready: UInt32, _ activation: UnsafeMutablePointer<Activation>, _ limiter: RateLimiter
  ) -> Bool {
    // The message of a port source has been taken, and an error alone is told once: these are told in any case.
    let isLast = item.kind == .portSource || ready == PortRegistration.failed
    guard limiter.begin(now: Kernel.now()) || isLast else {
      // Proof: `Item.Kind`.
      if item.kind == .descriptorSource { armAgain(unsafeDowncast(item, to: FileDescriptorSource.self), activation) }
      rest(item, limiter)
      if limiter.rest(in: serial) == nil { lock.withLock { setMuted(false, item) } }
      return false
    }
    let hasHandled = serveUnlimited(item, ready: ready, activation)
    if !hasHandled { limiter.takeBack() }
    rest(item, limiter)
    return hasHandled
  }

  /// It was called in another loop too often: the one shot, or the hang-up, that was taken here is told after the rest. Muted
  /// first, it is only marked: epoll hears of it when it is taken back, and may refuse it then, which is dealt with.
  private func armAgain(_ source: FileDescriptorSource, _ activation: UnsafeMutablePointer<Activation>) {
    let mode = activation.pointee.mode
    lock.withLock {
      guard let token = source.token(in: mode) else { return }
      mode.setMuted(true, source, token, on: self)
      try? mode.ports.set?.setInterest(source.registration.interest, token: token)
    }
  }

  private func rest(_ item: Item, _ limiter: RateLimiter) {
    guard item.isValid, let end = limiter.restEnd(now: Kernel.now()) else { return }
    // It holds neither of them: the limiter, which the source holds, holds the timer.
    let timer = Timer(fireDate: Instant(nanoseconds: end)) { [weak self, weak item] _ in
      if let self, let item, let limiter = item.limiter { self.endRest(item, limiter) }
    }
    timer.keepsRunning = item.keepsRunning
    limiter.beginRest(in: serial, timer)?.invalidate()
    let isResting = lock.withLock { beginRest(item, timer) }
    if !isResting { endRest(limiter, of: item) }
    if !item.isValid { limiter.end() }
  }

  /// Under the lock. False if no timer can be made: then it does not rest. Removed in its callout, it rests where it is added.
  private func beginRest(_ item: Item, _ timer: Timer) -> Bool {
    let modes = item.withLinks { links in links.compactMap { $0.host === self ? $0.mode : nil } }
    do throws(RunLoopError) {
      for mode in modes where timer.isValid { _ = try mode.insert(timer, on: self) }
    } catch {
      return false
    }
    setMuted(true, item)
    return true
  }

  private func endRest(_ item: Item, _ limiter: RateLimiter) {
    guard endRest(limiter, of: item) else { return }
    guard let whenLeft = limiter.limit.whenLeft else { return }
    let began = beginTiming()
    callOutNested(item) { whenLeft(item) }
    if began != 0 { calloutHasTaken(since: began, item) }
  }

  /// False if it did not rest.
  @discardableResult
  private func endRest(_ limiter: RateLimiter, of item: Item) -> Bool {
    guard let timer = limiter.endRest(in: serial) else { return false }
    timer.invalidate()
    lock.withLock { setMuted(false, item) }
    return true
  }
}
