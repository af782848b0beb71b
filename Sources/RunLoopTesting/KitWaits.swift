import RunLoopKit
internal import RunLoopLibc

/// Makes a participant that waits in RunLoopKit for another thread pass its turn on, and wait by the virtual clock.
extension Turns: TurnTaking {
  func wait(on word: UInt, until deadline: UInt64, for purpose: String, while isUnchanged: () -> Bool) {
    let participant = enterCurrentThread()
    lock.withLock {
      // No wake is missed: the other thread changes the word first, and then calls `wake`, which needs the lock.
      guard isUnchanged() else { return }
      blockLocked(participant, Participant.Wait(word: word, deadline: deadline, purpose: purpose))
    }
  }

  func wake(_ word: UInt) {
    lock.withLock { wakeLocked(word) }
  }

  func waitUntilWritable(_ fileDescriptor: Int32, until deadline: UInt64, for purpose: String) -> Int32 {
    let participant = enterCurrentThread()
    while true {
      var entry = pollfd(fd: fileDescriptor, events: Int16(POLLOUT), revents: 0)
      let count = poll(&entry, 1, 0)
      if count > 0 { return 1 }
      if count < 0, errno != EINTR { return -errno }
      if deadline <= now { return 0 }
      let wait = Participant.Wait(
        descriptor: fileDescriptor, events: Int16(POLLOUT), deadline: deadline, purpose: purpose)
      block(participant, wait)
    }
  }

  func choose(among count: Int) -> Int { lock.withLock { chooseLocked(among: count) } }

  func threadWillStart() -> any ThreadPlace { Place(turns: self, participant: makePlace()) }

  /// Puts a participant into the queue before its thread exists: its place must not depend on how fast the system
  /// starts the thread.
  func makePlace() -> Participant {
    let participant = Participant(of: self)
    join(participant)
    return participant
  }

  private final class Place: ThreadPlace {
    private let turns: Turns
    private let participant: Participant

    init(turns: Turns, participant: Participant) { (self.turns, self.participant) = (turns, participant) }

    func begin() { turns.adopt(participant) }

    func giveUp() { turns.forget(participant) }

    func waitForLastTurn(for purpose: String) { participant.departure.wait(for: purpose) }
  }
}
