internal import RunLoopLibc

// Waiting for a resident thread: by a thread, or by a task.

extension Resident {
  /// As the other form, of a task.
  nonisolated(nonsending) func startInTask() async throws {
    try begin()
    await phaseAfter(Phase.starting)
    if let failure = takeFailure() {
      try? join(.never)  // its loop has ended, so this is a moment
      throw failure
    }
  }

  func join(_ deadline: Deadline) throws(RunLoopError) {
    guard !isForked else { throw .forked }
    while true {
      let seen = phase.load()
      switch seen {
      case Phase.idle, Phase.joined: return
      case Phase.ended:
        try checkOtherThread()
        if phase.change(from: Phase.ended, to: Phase.joining) { return reclaim() }
      default:
        if seen != Phase.joining { try checkOtherThread() }
        guard phase.wait(while: seen, deadline, for: "the end of RunLoop.Thread \"\(name)\" (join)") else {
          throw .timedOut
        }
      }
    }
  }

  /// As the other form, of a task. What is left of the thread when its loop has ended is waited for here.
  nonisolated(nonsending) func joinInTask(_ timeout: Duration?) async throws {
    guard !isForked else { throw RunLoopError.forked }
    let clock = SuspendingClock()
    let deadline = timeout.map { clock.now.advanced(by: $0) }
    while true {
      let seen = phase.load()
      switch seen {
      case Phase.idle, Phase.joined: return
      case Phase.ended:
        try checkOtherThread()
        if phase.change(from: Phase.ended, to: Phase.joining) { return reclaim() }
      default:
        if seen != Phase.joining { try checkOtherThread() }
        try await phaseAfter(seen, deadline.map { clock.now.duration(to: $0) })
      }
    }
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
  /// Cannot be called off.
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
    return Array(bodies.values)
  }
}
