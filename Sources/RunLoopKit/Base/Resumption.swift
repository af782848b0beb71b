/// A task that is suspended until something has happened, or was called off: resumed once, by what comes first.
package final class Resumption<Value: Sendable>: @unchecked Sendable {
  private struct State {
    /// Until the resumption.
    var continuation: UnsafeContinuation<Value, any Error>?
    /// The beginning is over. What settles it earlier is kept, and resumes the task on its own thread: it is not
    /// suspended yet, and other threads have nothing to do with it.
    var hasBegun = false
    var early: Result<Value, any Error>?
    /// From the beginning of what is awaited.
    var withdrawal: (@Sendable () -> Bool)?
    /// Why it was called off.
    var reason: (any Error)?
  }

  private let lock = Lock()
  /// Guarded by `lock`.
  @exclusivity(unchecked) private var state = State()
  /// More is no limit, as for a run.
  private static var longest: Duration { .seconds(504_911_232) }

  private init() {}

  /// Suspends the calling task until `settle` is called, or until the task is cancelled or the time is over and what is
  /// awaited was withdrawn.
  ///
  /// - Parameters:
  ///   - timeout: Of real time; on a thread with virtual time, of that. Nil, and more than about 16 years: no limit.
  ///   - begin: Called once, on the calling thread, also in a task that is cancelled already. It makes sure that
  ///     `settle` is called, and answers how to withdraw what it has begun: a closure that is called at most once, on
  ///     any thread, and answers true if nobody else will call `settle`.
  /// - Throws: What it was settled with; what `begin` has thrown; `CancellationError`; `.timedOut`.
  nonisolated(nonsending) package static func wait(
    timeout: Duration? = nil, begin: (Resumption) throws -> @Sendable () -> Bool
  ) async throws -> Value {
    let this = Resumption()
    // Less than zero is zero: the clock does not take all of it.
    let alarm = timeout.flatMap { $0 > longest ? nil : this.alarm(after: max($0, .zero)) }
    defer { alarm?() }
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        this.lock.withLock { this.state.continuation = continuation }
        do { this.hasBegun(try begin(this)) } catch { this.hasFailed(error) }
      }
    } onCancel: {
      this.callOff(CancellationError())
    }
  }

  /// Calls it off then, unless what it returns is called before.
  private func alarm(after limit: Duration) -> @Sendable () -> Void {
    if let turns = Kernel.current?.turns {
      let alarm = turns.alarm(after: limit) { [weak self] in self?.callOff(RunLoopError.timedOut) }
      if let alarm { return alarm }
    }
    let task = Task {
      try await Task.sleep(for: limit, clock: .suspending)
      callOff(RunLoopError.timedOut)
    }
    return { task.cancel() }
  }

  /// Resumes the task. Nothing if it was resumed before.
  package func settle(_ result: Result<Value, any Error>) {
    let (continuation, withdrawal) = lock.withLock {
      guard state.hasBegun else {
        if state.early == nil { state.early = result }
        return (UnsafeContinuation<Value, any Error>?.none, (@Sendable () -> Bool)?.none)
      }
      return (state.continuation.take(), state.withdrawal.take())
    }
    withExtendedLifetime(withdrawal) { continuation?.resume(with: result) }
  }

  /// As `settle`, for what is nothing to a task that was called off before, such as a date.
  package func settleUnlessCalledOff(_ value: Value) {
    settle(lock.withLock { state.reason }.map { .failure($0) } ?? .success(value))
  }

  /// What is awaited has come to this: a failure that a calling off has brought about is the calling off's.
  package func end(_ result: Result<Value, any Error>) {
    switch result {
    case .success(let value): settle(.success(value))
    case .failure(let error): lose(error)
    }
  }

  /// What is awaited has gone without having happened: by itself, or because it was called off.
  package func lose(_ error: any Error) { settle(.failure(lock.withLock { state.reason } ?? error)) }

  /// What was kept counts, whatever comes at this moment: it resumes the task in the section that finds it.
  private func hasBegun(_ withdrawal: @escaping @Sendable () -> Bool) {
    let (early, continuation, reason) = lock.withLock {
      () -> (Result<Value, any Error>?, UnsafeContinuation<Value, any Error>?, (any Error)?) in
      state.hasBegun = true
      if let early = state.early.take() { return (early, state.continuation.take(), nil) }
      if state.reason == nil { state.withdrawal = withdrawal }
      return (nil, nil, state.reason)
    }
    if let early { continuation?.resume(with: early) }
    if let reason { withdraw(withdrawal, reason) }
  }

  private func hasFailed(_ error: any Error) {
    let (early, continuation) = lock.withLock {
      state.hasBegun = true
      return (state.early.take(), state.continuation.take())
    }
    continuation?.resume(with: early ?? .failure(error))
  }

  private func callOff(_ reason: any Error) {
    let withdrawal = lock.withLock {
      if state.reason == nil { state.reason = reason }
      return state.withdrawal.take()
    }
    if let withdrawal { withdraw(withdrawal, reason) }
  }

  private func withdraw(_ withdrawal: @Sendable () -> Bool, _ reason: any Error) {
    if withdrawal() { settle(.failure(reason)) }
  }
}
