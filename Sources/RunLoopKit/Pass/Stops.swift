internal import Synchronization

/// Which run of a loop is asked to stop: always the innermost one. Any thread asks, without a lock; the loop's own
/// begins and ends runs, and puts back what was asked of the enclosing one.
struct Stops: ~Copyable {
  /// The innermost run's serial << 1 | it is asked to stop; 0 while none runs.
  private let word = Atomic<UInt64>(0)
  /// Every run is stopped, the enclosing ones too, and those that begin from now on: the thread shall end.
  private let quits = Atomic<Bool>(false)

  /// False if there is no run to stop.
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

  /// Clears what was asked of the innermost run; true if that was something. [loop]
  @inline(__always)
  func take() -> Bool {
    guard isRequested else { return false }
    let seen = word.load(ordering: .relaxed)
    word.store(seen & ~1, ordering: .sequentiallyConsistent)
    return true
  }

  /// A run begins, with a serial that no run of the loop has had: a stop from now on is its own. What `end` puts back
  /// (rule 20). [loop]
  @inline(__always)
  func begin(_ serial: UInt64) -> UInt64 { word.exchange(serial << 1, ordering: .sequentiallyConsistent) }

  /// The run is over: true if it is still asked to stop. [loop]
  @inline(__always)
  func end(_ outer: UInt64 = 0) -> Bool { word.exchange(outer, ordering: .sequentiallyConsistent) & 1 != 0 }

  /// The run was left. What was asked of it is for the run around it, which nobody else would stop; if there is none,
  /// it is forgotten. True if that one is asked. [loop]
  func endLeft(_ outer: UInt64) -> Bool { end(outer) && outer != 0 && request() }

  // MARK: The end of a resident thread

  @inline(__always)
  var isQuitting: Bool { quits.load(ordering: .sequentiallyConsistent) }

  /// The flag is set before the word is read, and the loop reads it after it has written that: one of the two sees the
  /// other.
  func quit() { quits.store(true, ordering: .sequentiallyConsistent) }

  /// Runs may begin again. [loop]
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

  /// Clears the stop of the innermost activation; true if there was one that ends it. [loop]
  @inline(__always)
  func takeStop(of activation: Activation) -> Bool { stops.take() && activation.isStopped() }
}
