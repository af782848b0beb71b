internal import RunLoopLibc

// Threads and tasks that wait for a resident thread.

extension Resident {
  /// As `start`, but suspends the task instead of blocking the thread.
  nonisolated(nonsending) func startInTask() async throws {
    try begin()
    await phaseAfter(Phase.starting)
    if let failure = takeFailure() {
      try? join(.never)  // brief, because the loop has ended
      throw failure
    }
  }

  func join(_ deadline: Deadline) throws(RunLoopError) {
    while let seen = try joinIfEnded() {
      guard phase.wait(while: seen, deadline, for: "the end of RunLoop.Thread \"\(name)\" (join)") else {
        throw .timedOut
      }
    }
  }

  /// As `join`, but suspends the task until the loop has ended; then it blocks briefly until the thread has ended.
  nonisolated(nonsending) func joinInTask(_ timeout: Duration?) async throws {
    let deadline = timeout.map { Time.add(Kernel.now(), $0.nanosecondsRoundedUp) }
    while let seen = try joinIfEnded() {
      let now = Kernel.now()
      try await phaseAfter(seen, deadline.map { Duration(nanoseconds: $0 > now ? $0 - now : 0) })
    }
  }

  /// Joins the thread if its loop has ended. Returns nil if the thread is over or was not started. Otherwise the caller
  /// waits until the returned phase changes, and calls again.
  private func joinIfEnded() throws(RunLoopError) -> UInt32? {
    guard !isForked else { throw .forked }
    let seen = phase.load()
    if seen == Phase.idle || seen == Phase.joined { return nil }
    if seen != Phase.joining { try checkOtherThread() }
    guard seen == Phase.ended else { return seen }
    guard phase.change(from: Phase.ended, to: Phase.joining) else { return seen }  // another thread joins it
    reclaim()
    return nil
  }

  /// Throws on the thread itself. Call it only before the join: later another thread may have the same `pthread_t`.
  private func checkOtherThread() throws(RunLoopError) {
    guard let handle = lock.withLock({ self.handle }), pthread_equal(handle, pthread_self()) != 0 else { return }
    throw .wouldDeadlock(call: "join(timeout:)", "a thread cannot wait for its own end")
  }

  /// Joins the thread, which ends shortly after its loop.
  private func reclaim() {
    let (handle, place) = lock.withLock { (self.handle, self.place) }
    place?.waitForLastTurn(for: "the last turn of RunLoop.Thread \"\(name)\" (join)")
    if let handle { pthread_join(handle, nil) }
    enter(Phase.joined, from: Phase.joining)
  }
}

// MARK: Tasks that wait

extension Resident {
  /// Cancelling the task does not end this wait.
  nonisolated(nonsending) private func phaseAfter(_ seen: UInt32) async {
    await withUnsafeContinuation { continuation in whenPhase(isNot: seen) { continuation.resume() } }
  }

  nonisolated(nonsending) private func phaseAfter(_ seen: UInt32, _ timeout: Duration?) async throws {
    try await Resumption<Void>.wait(timeout: timeout) { [self] task in
      let ticket = whenPhase(isNot: seen) { task.settle(.success(())) }
      return { [self] in lock.withLock { waiters.remove(ticket) } }
    }
  }

  /// Calls the closure when the phase has changed, at once if it has already. No lock is held.
  @discardableResult
  private func whenPhase(isNot seen: UInt32, _ body: @escaping @Sendable () -> Void) -> UInt64 {
    let ticket = lock.withLock { phase.load() == seen ? waiters.append(body) : nil }
    if ticket == nil { body() }
    return ticket ?? 0
  }
}

/// Tasks that wait for the next phase. Guarded by the resident's lock.
struct PhaseWaiters {
  private var bodies: [UInt64: @Sendable () -> Void] = [:]
  private var lastTicket: UInt64 = 0

  mutating func append(_ body: @escaping @Sendable () -> Void) -> UInt64 {
    lastTicket += 1
    bodies[lastTicket] = body
    return lastTicket
  }

  /// False if the closure has been called, or is about to be.
  mutating func remove(_ ticket: UInt64) -> Bool { bodies.removeValue(forKey: ticket) != nil }

  mutating func takeAll() -> [@Sendable () -> Void] {
    defer { bodies = [:] }
    return bodies.sorted { $0.key < $1.key }.map(\.value)  // a dictionary's order differs between processes
  }
}
