internal import Synchronization

/// Whether the innermost run of a loop is asked to stop. Any thread asks, without a lock. The loop's thread begins and
/// ends runs. When a nested run ends, it restores the word of the enclosing run, with the request if there was one.
struct Stops: ~Copyable {
  /// The innermost run's serial << 1, plus 1 if the run is asked to stop; 0 if there is no run.
  private let word = Atomic<UInt64>(0)
  /// A number of `Later`, which says whether runs that begin later have to stop.
  private let later = Atomic<UInt8>(Later.nothing)
  /// True if a stop has found no run, for a report.
  private let missed = Atomic<Bool>(false)

  /// Computed, not stored: a signal handler that calls `request` must not run the initialisation of stored numbers.
  private enum Later {
    static var nothing: UInt8 { 0 }
    /// All runs have to stop, the ones on the stack too, because the thread has to end.
    static var quit: UInt8 { 1 }
    /// A resident thread is about to begin its first run, for which a stop is kept.
    static var firstRun: UInt8 { 2 }
    /// `firstRun` was set, and a stop has come since.
    static var firstRunStops: UInt8 { 3 }
  }

  /// Asks the innermost run to stop, or the first run of a resident thread that is about to begin it. False if there is
  /// neither.
  func request() -> Bool {
    // If the first run begins between the first two calls, the third call finds it.
    requestOfRun() || keepForFirstRun() || requestOfRun()
  }

  private func requestOfRun() -> Bool {
    var seen = word.load(ordering: .sequentiallyConsistent)
    while seen != 0 {
      let (exchanged, original) = word.weakCompareExchange(
        expected: seen, desired: seen | 1, ordering: .sequentiallyConsistent)
      if exchanged { return true }
      seen = original
    }
    return false
  }

  /// Notes that `request` has found no run. - Thread: Any, and signal handlers.
  func noteMissed() { missed.store(true, ordering: .relaxed) }

  /// True if a stop has found no run since the last call. - Thread: The loop's own.
  func takeMissed() -> Bool {
    guard missed.load(ordering: .relaxed) else { return false }
    return missed.exchange(false, ordering: .relaxed)
  }

  var isRunning: Bool { word.load(ordering: .sequentiallyConsistent) != 0 }

  var isRequested: Bool { word.load(ordering: .sequentiallyConsistent) & 1 != 0 }

  /// Clears the request to the innermost run. True if there was one. - Thread: The loop's own.
  func take() -> Bool {
    guard isRequested else { return false }
    let seen = word.load(ordering: .relaxed)
    word.store(seen & ~1, ordering: .sequentiallyConsistent)
    return true
  }

  /// Called when a run begins, with a serial that no run of the loop has had. After the call stops reach this run.
  /// Returns the word that `end` restores (rule 20). - Thread: The loop's own.
  func begin(_ serial: UInt64) -> UInt64 { word.exchange(serial << 1, ordering: .sequentiallyConsistent) }

  /// Called when the run has ended. True if it is still asked to stop. - Thread: The loop's own.
  func end(_ outer: UInt64 = 0) -> Bool { word.exchange(outer, ordering: .sequentiallyConsistent) & 1 != 0 }

  /// Called when the run was left. Passes a request to that run on to the enclosing run, which nothing else would stop.
  /// Drops the request if there is no enclosing run. True if the enclosing run is asked. - Thread: The loop's own.
  func endLeft(_ outer: UInt64) -> Bool { end(outer) && outer != 0 && request() }

  // MARK: The beginning and the end of a resident thread

  /// Called before other threads get the loop. From then on `request` keeps a stop for the thread's first run, which
  /// the caller is about to begin. - Thread: The loop's own.
  func expectFirstRun() { _ = later.exchange(from: Later.nothing, to: Later.firstRun) }

  private func keepForFirstRun() -> Bool {
    later.exchange(from: Later.firstRun, to: Later.firstRunStops) >= Later.firstRun
  }

  /// Called when a run has begun. True if it has to stop at once. - Thread: The loop's own.
  func stopsRunThatBegins() -> Bool {
    later.load(ordering: .sequentiallyConsistent) != Later.nothing && takeWhatWasKept()
  }

  /// Clears the two states of the first run in `later`, so that further requests reach the run by `word` only. A `quit`
  /// stays in `later`.
  @inline(never)
  private func takeWhatWasKept() -> Bool {
    if later.exchange(from: Later.firstRun, to: Later.nothing) == Later.firstRun { return false }
    _ = later.exchange(from: Later.firstRunStops, to: Later.nothing)
    return true
  }

  var isQuitting: Bool { later.load(ordering: .sequentiallyConsistent) == Later.quit }

  /// Makes all runs stop. The caller then calls `request`, which reads the word. A run that begins writes the word and
  /// then reads `later`. So the request reaches the run, or the run sees that it has to stop.
  func quit() { later.store(Later.quit, ordering: .sequentiallyConsistent) }

  func resume() { later.store(Later.nothing, ordering: .sequentiallyConsistent) }
}

extension Atomic<UInt8> {
  /// Stores `next` if the number is `expected`. Returns the number that was there.
  fileprivate func exchange(from expected: UInt8, to next: UInt8) -> UInt8 {
    compareExchange(expected: expected, desired: next, ordering: .sequentiallyConsistent).original
  }
}

extension RunLoop {
  /// Ends the innermost run after its current pass; does nothing if the loop does not run.
  ///
  /// A stop never reaches an enclosing run, and several stops count once [RLK-RUN-5]. The call wakes the loop
  /// [RLK-RUN-6]. From the return of `RunLoop.Thread.start` on, the thread's loop counts as running: a stop that comes
  /// before its first run ends that run, and so the thread. `diagnostics` reports a stop that found no run, when the
  /// next run begins [RLK-DIAG-12].
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let timer = RunLoop.Timer(after: .zero, interval: .milliseconds(5)) { _ in
  ///   print("tick")  // prints tick
  ///   loop.stop()
  /// }
  /// try loop.add(timer)
  /// print(try loop.run())  // prints stopped
  /// ```
  /// - Thread: Any. - Blocks: No; lock-free, at most one write(2). - SeeAlso: `CFRunLoopStop`.
  public func stop() {
    guard isInThisProcess else { return }
    if stops.request() { wakes.word.interrupt() } else { stops.noteMissed() }
  }

  /// As `stop()`, for RunLoopKit's own stops: if there is no run, nothing is reported. Such a stop is the stop of a run
  /// that is over, for the enclosing run, or one for all runs of a thread that ends.
  func requestStop() {
    if isInThisProcess, stops.request() { wakes.word.interrupt() }
  }

  /// Clears a stop of the innermost run. True if there was one, and it ends the run. - Thread: The loop's own.
  func takeStop(of activation: Activation) -> Bool { stops.take() && activation.isStopped() }
}
