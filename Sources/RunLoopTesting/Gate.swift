import RunLoopKit

extension VirtualTime {
  /// A gate opens once and stays open. Participants wait for each other by gates.
  public final class Gate: @unchecked Sendable {
    private let turns: Turns
    private var isOpen = false  // guarded by turns.lock
    private var waiters: [Participant] = []  // guarded by turns.lock

    init(turns: Turns) {
      self.turns = turns
    }

    /// Opens the gate and makes all waiters runnable, each at its turn. Does nothing if the gate is open.
    ///
    /// - Thread: Any. - Blocks: No.
    public func open() {
      turns.lock.withLock {
        isOpen = true
        // A waiter whose deadline has passed is in the queue already.
        for waiter in waiters where waiter.wait != nil { turns.makeRunnable(waiter) }
        waiters = []
      }
    }

    /// Waits until the gate is open or the clock has reached `deadline`; returns whether the gate is open.
    ///
    /// The calling thread becomes a participant.
    ///
    /// - Thread: Any. - Blocks: Virtually.
    @discardableResult
    public func wait(until deadline: RunLoop.Instant = .distantFuture) -> Bool {
      let participant = turns.enterCurrentThread()
      return turns.lock.withLock {
        guard !isOpen else { return true }
        waiters.append(participant)
        let wait = Participant.Wait(deadline: deadline.nanoseconds, purpose: "a gate (Gate.wait)")
        turns.blockLocked(participant, wait)
        waiters.removeAll { $0 === participant }
        return isOpen
      }
    }
  }

  /// Makes a closed gate.
  ///
  /// - Thread: Any.
  public func makeGate() -> Gate {
    Gate(turns: turns)
  }
}
