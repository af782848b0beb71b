import RunLoopKit

extension VirtualTime {
  /// A door that opens once and stays open: how participants wait for each other.
  public final class Gate: @unchecked Sendable {
    private let turns: Turns
    private var isOpen = false  // guarded by turns.lock
    private var waiters: [Participant] = []  // guarded by turns.lock

    init(turns: Turns) {
      self.turns = turns
    }

    /// Opens it and lets all waiters run, each at its turn; nothing if it is open. Thread: any. Blocks: no.
    public func open() {
      turns.lock.withLock {
        isOpen = true
        // One whose deadline has passed is in the queue already.
        for waiter in waiters where waiter.wait != nil { turns.makeRunnable(waiter) }
        waiters = []
      }
    }

    /// Waits until the gate is open or the clock has reached `deadline`; says whether it is open.
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

  /// A closed gate. Thread: any.
  public func makeGate() -> Gate {
    Gate(turns: turns)
  }
}
