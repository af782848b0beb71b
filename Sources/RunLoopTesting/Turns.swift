import CRunLoopCore
import Glibc
import RunLoopKit
import Synchronization

/// Whose turn it is, and the clock.
///
/// At most one participant runs (`holder`). When it blocks it moves the turn on (`driveLocked`): to the next runnable one,
/// else to a blocked one whose epoll descriptor has become readable, else the clock goes to the next deadline.
final class Turns: @unchecked Sendable {
  /// Guards everything below except `clock`; innermost, and never held in user code.
  let lock = TurnLock()
  var timers = VirtualTimers()
  private let clock: Atomic<UInt64>
  private let tick: UInt64
  private let idlePolicy: VirtualTime.IdlePolicy
  private let threadKey: pthread_key_t
  private var holder: Participant?
  private var runnable: [Participant] = []  // first in, first out
  private var blocked: [Participant] = []  // in the order of blocking
  /// Somebody is in `driveLocked`, perhaps without the lock.
  private var isDriving = false
  /// Ends a wait for reality; made when first needed.
  private var interruption: Int32 = -1

  /// A participant that has looked so often without blocking is spinning.
  private static let looksPerInstant = 64
  private static let spinSleep: UInt64 = 500_000
  private static let lastDestructorRound = Int(PTHREAD_DESTRUCTOR_ITERATIONS) - 1

  init(start: UInt64, tick: UInt64, idlePolicy: VirtualTime.IdlePolicy) {
    clock = Atomic(start)
    self.tick = tick
    self.idlePolicy = idlePolicy
    var key = pthread_key_t()
    let status = pthread_key_create(&key, participantThreadEnds)
    precondition(status == 0, "pthread_key_create failed: error \(status)")
    threadKey = key
    Turns.shared.store(self)
  }

  /// The clock, in nanoseconds. Thread: any; no lock.
  var now: UInt64 { clock.load(ordering: .acquiring) }

  /// The same for users, whose reading moves it by a tick.
  func readClock() -> UInt64 {
    tick == 0 ? now : clock.wrappingAdd(tick, ordering: .acquiringAndReleasing).newValue
  }

  // MARK: Taking part

  private var current: Participant? {
    pthread_getspecific(threadKey).map { Unmanaged<Participant>.fromOpaque($0).takeUnretainedValue() }
  }

  func enterCurrentThread() -> Participant {
    if let participant = current { return participant }
    let participant = Participant()
    lock.withLock { makeRunnable(participant) }
    adopt(participant)
    return participant
  }

  /// Makes the calling thread that of a participant which is in the queue already, and waits for its turn.
  func adopt(_ participant: Participant) {
    pthread_setspecific(threadKey, Unmanaged.passRetained(participant).toOpaque())
    lock.withLock { awaitTurn(participant) }
  }

  func leaveCurrentThread() {
    guard let participant = current else { return }
    pthread_setspecific(threadKey, nil)
    leave(Unmanaged.passUnretained(participant))
  }

  /// Balances the retain of `adopt`.
  fileprivate func leave(_ participant: Unmanaged<Participant>) {
    participant.takeUnretainedValue().leaving?.open()
    lock.withLock {
      holder = nil
      driveLocked(as: nil)
      // This thread cannot wait for reality: one that is blocked does it.
      if holder == nil, !isDriving, let other = blocked.first { pthread_cond_signal(other.condition) }
    }
    participant.release()
  }

  /// glibc calls destructors in up to four rounds as long as values are set anew. The third is behind the loop's own, so
  /// that what a loop does at its thread's end is still done in turn; in the fourth ThreadSanitizer gives the thread up.
  fileprivate func threadEnds(_ value: UnsafeMutableRawPointer) {
    let participant = Unmanaged<Participant>.fromOpaque(value)
    participant.takeUnretainedValue().destructorRounds += 1
    if participant.takeUnretainedValue().destructorRounds < Turns.lastDestructorRound {
      pthread_setspecific(threadKey, value)
    } else {
      leave(participant)
    }
  }

  // MARK: Blocking

  /// Blocks until `epoll` is readable or the clock has reached `deadline`, and until the turn comes.
  func block(_ participant: Participant, epoll: Int32 = -1, until deadline: UInt64) {
    lock.withLock { blockLocked(participant, epoll: epoll, until: deadline) }
  }

  func blockLocked(_ participant: Participant, epoll: Int32 = -1, until deadline: UInt64) {
    participant.looks = 0
    participant.wait = Participant.Wait(epoll: epoll, deadline: deadline)
    blocked.append(participant)
    holder = nil
    awaitTurn(participant)
  }

  private func awaitTurn(_ participant: Participant) {
    while holder !== participant {
      if holder == nil, !isDriving {
        driveLocked(as: participant)
      } else {
        lock.wait(participant.condition)
      }
    }
  }

  /// Serves the timers that ticks have passed, before a look at the descriptors.
  func fireDueTimers() {
    guard tick != 0 else { return }  // else the clock never passes a deadline without serving it
    lock.withLock {
      while let timer = timers.next, timer.deadline <= now { timers.fire(timer) }
    }
  }

  /// Counts a wait that did not block; after too many at one instant it becomes a short sleep.
  func countLook() {
    guard let participant = current else { return }
    participant.looks += 1
    if participant.looks >= Turns.looksPerInstant { block(participant, until: now + Turns.spinSleep) }
  }

  /// Puts a new or blocked participant behind those that can run. Lock held.
  func makeRunnable(_ participant: Participant) {
    if participant.wait != nil {
      participant.wait = nil
      blocked.removeAll { $0 === participant }
    }
    runnable.append(participant)
    if isDriving {
      interrupt()
    } else if holder == nil, let other = blocked.first {
      pthread_cond_signal(other.condition)
    }
  }

  // MARK: Passing the turn on

  /// Gives the turn to somebody. `participant` is the calling thread's, and blocked, or nil: then this never waits, and
  /// may leave the turn free.
  private func driveLocked(as participant: Participant?) {
    isDriving = true
    defer { isDriving = false }
    var hasReported = false
    while holder == nil {
      if !runnable.isEmpty {
        let next = runnable.removeFirst()
        holder = next
        pthread_cond_signal(next.condition)
      } else if wakeReadyWaiters() || moveClock() {
        continue
      } else if participant == nil || blocked.isEmpty {
        return
      } else if case .report(let report) = idlePolicy, !hasReported {
        hasReported = true
        lock.withoutLock(report)
      } else {
        waitForReality()
      }
    }
  }

  /// An epoll descriptor can be polled itself: readable means that a wait would find an event.
  private func wakeReadyWaiters() -> Bool {
    let waiters = blocked.filter { $0.wait!.epoll >= 0 }
    guard !waiters.isEmpty else { return false }
    var entries = waiters.map { pollfd(fd: $0.wait!.epoll, events: Int16(POLLIN), revents: 0) }
    guard poll(&entries, nfds_t(entries.count), 0) > 0 else { return false }
    for (waiter, entry) in zip(waiters, entries) where entry.revents != 0 { makeRunnable(waiter) }
    return true
  }

  /// Goes to the next deadline and serves exactly one timer or one participant. False if there is none.
  private func moveClock() -> Bool {
    let nextTimer = timers.next
    var nextSleeper: Participant?
    for participant in blocked
    where participant.wait!.deadline < (nextSleeper?.wait!.deadline ?? .max) { nextSleeper = participant }
    if let timer = nextTimer, timer.deadline <= nextSleeper?.wait!.deadline ?? .max {
      setClock(timer.deadline)
      timers.fire(timer)
    } else if let sleeper = nextSleeper {
      setClock(sleeper.wait!.deadline)
      makeRunnable(sleeper)
    } else {
      return false
    }
    return true
  }

  private func setClock(_ time: UInt64) {
    if time > now { clock.store(time, ordering: .releasing) }
  }

  // MARK: Reality

  /// Waits, without the lock, for an event from outside on any of the blocked participants' descriptors.
  private func waitForReality() {
    if interruption < 0 { interruption = rlc_kernel_default().pointee.eventfd_create(nil) }
    var entries = blocked.filter { $0.wait!.epoll >= 0 }
      .map { pollfd(fd: $0.wait!.epoll, events: Int16(POLLIN), revents: 0) }
    entries.append(pollfd(fd: interruption, events: Int16(POLLIN), revents: 0))
    lock.withoutLock { _ = poll(&entries, nfds_t(entries.count), -1) }
    var count: UInt64 = 0
    _ = read(interruption, &count, 8)
  }

  /// Something changed that a wait for reality does not see. Lock held.
  func interrupt() {
    var one: UInt64 = 1
    if isDriving, interruption >= 0 { _ = write(interruption, &one, 8) }
  }
}

// MARK: The process's one

/// For C functions, which have no place for a context: a thread-specific value's destructor and the kernel table.
final class SharedTurns: Sendable {
  private let reference = Mutex<Turns?>(nil)

  func store(_ turns: Turns) {
    reference.withLock {
      precondition($0 == nil, "VirtualTime.install: it is installed already, and there is no way back in this process")
      $0 = turns
    }
  }

  var value: Turns { reference.withLock { $0! } }
}

extension Turns {
  static let shared = SharedTurns()
}

private func participantThreadEnds(_ value: UnsafeMutableRawPointer?) {
  if let value { Turns.shared.value.threadEnds(value) }
}
