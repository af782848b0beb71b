internal import Synchronization

/// Whether the innermost run of a loop is asked to stop. Any thread asks, without a lock. The loop's thread begins and
/// ends runs. When a nested run ends, it restores the word of the enclosing run, with the request if there was one.
struct Stops: ~Copyable {
  /// The innermost run's serial << 1, plus 1 if the run is asked to stop; 0: there is no run.
  private let word = Atomic<UInt64>(0)
  /// True if all runs have to stop, enclosing and future ones too, because the thread has to end.
  private let quits = Atomic<Bool>(false)

  /// Asks the innermost run to stop. False if there is no run.
  func request() -> Bool {
    var seen = word.load(ordering: .sequentiallyConsistent)
    while seen != 0 {
      let (exchanged, original) = word.weakCompareExchange(
        expected: seen, desired: seen | 1, ordering: .sequentiallyConsistent)
      if exchanged { return true }
      seen = original
    }
    return false
  }

  var isRunning: Bool { word.load(ordering: .sequentiallyConsistent) != 0 }

  var isRequested: Bool { word.load(ordering: .sequentiallyConsistent) & 1 != 0 }

  /// Clears the request to the innermost run. True if there was one. - Thread: The loop's own.
  @inline(__always)
  func take() -> Bool {
    guard isRequested else { return false }
    let seen = word.load(ordering: .relaxed)
    word.store(seen & ~1, ordering: .sequentiallyConsistent)
    return true
  }

  /// Called when a run begins, with a serial that no run of the loop has had. From now on stops reach this run. Returns
  /// the word that `end` restores (rule 20). - Thread: The loop's own.
  @inline(__always)
  func begin(_ serial: UInt64) -> UInt64 { word.exchange(serial << 1, ordering: .sequentiallyConsistent) }

  /// Called when the run has ended. True if it is still asked to stop. - Thread: The loop's own.
  @inline(__always)
  func end(_ outer: UInt64 = 0) -> Bool { word.exchange(outer, ordering: .sequentiallyConsistent) & 1 != 0 }

  /// Called when the run was left. A request to it passes to the enclosing run, which nothing else would stop. Without
  /// an enclosing run it is dropped. True if the enclosing run is asked. - Thread: The loop's own.
  func endLeft(_ outer: UInt64) -> Bool { end(outer) && outer != 0 && request() }

  // MARK: The end of a resident thread

  @inline(__always)
  var isQuitting: Bool { quits.load(ordering: .sequentiallyConsistent) }

  /// The caller sets this flag and then reads the word. A run that begins writes the word and then reads the flag. So
  /// the request reaches the run, or the run sees the flag.
  func quit() { quits.store(true, ordering: .sequentiallyConsistent) }

  /// Ends the effect of `quit`. - Thread: The loop's own.
  func resume() { quits.store(false, ordering: .sequentiallyConsistent) }
}

extension RunLoop {
  /// Ends the innermost run after its current pass; does nothing if the loop does not run.
  ///
  /// A stop never reaches an enclosing run, and several stops count once [RLK-RUN-5]. Wakes the loop [RLK-RUN-6].
  /// - Thread: Any. - Blocks: No; lock-free, at most one write(2). - SeeAlso: `CFRunLoopStop`.
  public func stop() {
    guard isInThisProcess else { return }
    if stops.request() { wakes.word.kick() }
  }

  /// Clears a stop of the innermost run. True if there was one, and it ends the run. - Thread: The loop's own.
  @inline(__always)
  func takeStop(of activation: Activation) -> Bool { stops.take() && activation.isStopped() }
}
