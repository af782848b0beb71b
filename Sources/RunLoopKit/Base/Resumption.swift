/// Suspends a task until a result comes, or until the task's cancellation or its time limit calls the wait off. The
/// first of these resumes the task, once.
package final class Resumption<Value: Sendable>: @unchecked Sendable {
  private struct State {
    /// Nil once the task is resumed.
    var continuation: UnsafeContinuation<Value, any Error>?
    /// Set when `begin` has returned. A result that comes earlier is kept in `early`, and the task's own thread then
    /// resumes the task. If another thread resumed a task that is not suspended yet, ThreadSanitizer would report a
    /// race.
    var hasBegun = false
    var early: Result<Value, any Error>?
    /// The closure that `begin` has returned.
    var withdrawal: (@Sendable () -> Bool)?
    /// Why the wait was called off.
    var reason: (any Error)?
  }

  private let lock = Lock()
  /// Guarded by `lock`.
  private var state = State()
  /// A longer time limit counts as none. The limit of a run follows the same rule.
  private static var longest: Duration { .seconds(504_911_232) }

  private init() {}

  /// Suspends the calling task until `settle` is called. The wait also ends when the task is cancelled or the time
  /// limit passes, if what is awaited can be withdrawn then.
  ///
  /// - Parameters:
  ///   - timeout: Measured in real time, and in virtual time on a thread that has it. Nil, or more than about 16 years,
  ///     sets no limit.
  ///   - begin: Called once, on the calling thread, also in a task that is cancelled already. It makes sure that
  ///     `settle` is called, and returns how to withdraw what it has begun: a closure that is called at most once, on
  ///     any thread, and returns true if no other code will call `settle`.
  /// - Throws: The error that was passed to `settle`; what `begin` has thrown; `CancellationError`; `.timedOut`.
  nonisolated(nonsending) package static func wait(
    timeout: Duration? = nil, begin: (Resumption) throws -> @Sendable () -> Bool
  ) async throws -> Value {
    let this = Resumption()
    // A negative limit counts as zero, since the clock does not accept every negative duration.
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

  /// Calls the wait off after `limit`, unless the returned closure is called before.
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

  /// Resumes the task. Does nothing if it was resumed before.
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

  /// Does what `settle` does, but if the wait was called off before, the task gets `reason` in place of the value. Used
  /// for values that mean nothing to a task whose wait was called off, such as a date.
  package func settleUnlessCalledOff(_ value: Value) {
    settle(lock.withLock { state.reason }.map { .failure($0) } ?? .success(value))
  }

  /// Ends the wait with a result. If the wait was called off before, the task gets `reason` in place of a failure.
  package func end(_ result: Result<Value, any Error>) {
    switch result {
    case .success(let value): settle(.success(value))
    case .failure(let error): lose(error)
    }
  }

  /// Ends the wait with a failure: `reason` if the wait was called off before, else `error`.
  package func lose(_ error: any Error) { settle(.failure(lock.withLock { state.reason } ?? error)) }

  /// Called when `begin` has returned. A result in `early` wins over one that comes now, because this function takes
  /// `early` and the continuation under one hold of the lock.
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
