internal import RunLoopLibc

// Waiting for a resident thread: by a thread, or by a task.

extension Resident {
  /// Suspends the task where `start` blocks the thread.
  nonisolated(nonsending) func startInTask() async throws {
    try begin()
    await phaseAfter(Phase.starting)
    if let failure = takeFailure() {
      try? join(.never)  // its loop has ended, so this is a moment
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

  /// Suspends the task where `join` blocks the thread, up to the end of the thread's loop.
  nonisolated(nonsending) func joinInTask(_ timeout: Duration?) async throws {
    let deadline = timeout.map { Time.add(Kernel.now(), $0.nanosecondsRoundedUp) }
    while let seen = try joinIfEnded() {
      let now = Kernel.now()
      try await phaseAfter(seen, deadline.map { Duration(nanoseconds: $0 > now ? $0 - now : 0) })
    }
  }

  /// Nil if the thread is over, or was not started; else the phase that has to change before the next call.
  private func joinIfEnded() throws(RunLoopError) -> UInt32? {
    guard !isForked else { throw .forked }
    let seen = phase.load()
    if seen == Phase.idle || seen == Phase.joined { return nil }
    if seen != Phase.joining { try checkOtherThread() }
    guard seen == Phase.ended else { return seen }
    guard phase.change(from: Phase.ended, to: Phase.joining) else { return seen }  // another one joins it
    reclaim()
    return nil
  }

  /// Its number may be another thread's once it was joined.
  private func checkOtherThread() throws(RunLoopError) {
    guard let handle = lock.withLock({ self.handle }), pthread_equal(handle, pthread_self()) != 0 else { return }
    throw .wouldDeadlock(call: "join(timeout:)", "a thread cannot wait for its own end")
  }

  /// What is left of the thread is a moment, after the end of its loop.
  private func reclaim() {
    let (handle, place) = lock.withLock { (self.handle, self.place) }
    place?.waitForLastTurn(for: "the last turn of RunLoop.Thread \"\(name)\" (join)")
    if let handle { pthread_join(handle, nil) }
    enter(Phase.joined, from: Phase.joining)
  }
}

// MARK: Tasks that wait

extension Resident {
  /// Goes on although the task is cancelled.
  nonisolated(nonsending) private func phaseAfter(_ seen: UInt32) async {
    await withUnsafeContinuation { continuation in whenPhase(isNot: seen) { continuation.resume() } }
  }

  nonisolated(nonsending) private func phaseAfter(_ seen: UInt32, _ timeout: Duration?) async throws {
    try await Resumption<Void>.wait(timeout: timeout) { [self] task in
      let ticket = whenPhase(isNot: seen) { task.settle(.success(())) }
      return { [self] in lock.withLock { waiters.remove(ticket) } }
    }
  }

  /// Calls the closure at once if the phase has changed already. No lock is held.
  @discardableResult
  private func whenPhase(isNot seen: UInt32, _ body: @escaping @Sendable () -> Void) -> UInt64 {
    let ticket = lock.withLock { phase.load() == seen ? waiters.append(body) : nil }
    if ticket == nil { body() }
    return ticket ?? 0
  }
}

/// Who waits for the next phase, without a thread. Guarded by the resident's lock.
struct PhaseWaiters {
  private var bodies: [UInt64: @Sendable () -> Void] = [:]
  private var lastTicket: UInt64 = 0

  mutating func append(_ body: @escaping @Sendable () -> Void) -> UInt64 {
    lastTicket += 1
    bodies[lastTicket] = body
    return lastTicket
  }

  /// False if it has been called, or will be.
  mutating func remove(_ ticket: UInt64) -> Bool { bodies.removeValue(forKey: ticket) != nil }

  mutating func takeAll() -> [@Sendable () -> Void] {
    defer { bodies = [:] }
    return bodies.sorted { $0.key < $1.key }.map(\.value)  // in the order of their coming, in each process
  }
}
