import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

/// Whose turn it is, and the clock.
///
/// At most one participant runs (`holder`). When it blocks it moves the turn on (`driveLocked`): to the next runnable
/// one, else to a blocked one whose epoll descriptor has become readable, else the clock goes to the next deadline.
final class Turns: @unchecked Sendable {
  /// Guards everything below except `clock`; innermost, and never held in user code.
  let lock = TurnLock()
  var timers = VirtualTimers()
  private let clock: Atomic<UInt64>
  private let tick: UInt64
  private let idlePolicy: VirtualTime.IdlePolicy
  private let patience: Patience
  /// What the choices follow from; nil: whoever has been able to run for longest is next.
  private var choices: SplitMix?
  /// Where the jobs run that would go to the default executor.
  private var pool: RunLoop.Executor?
  /// All who take part, in the order of their coming.
  private(set) var participants: [Participant] = []
  private(set) var holder: Participant?
  private var runnable: [Participant] = []  // first in, first out
  private var blocked: [Participant] = []  // in the order of blocking
  /// A thread is in `driveLocked`, perhaps without the lock.
  private var isDriving = false
  /// Ends a wait for reality; made when first needed.
  private var interruption: Int32 = -1
  /// The clock stands still from now on.
  private var isOver = false
  /// Counts whatever goes on.
  private var progress: UInt64 = 0
  /// What it was when a standstill was reported last.
  private var toldProgress: UInt64 = .max

  /// A participant that has looked so often without blocking is spinning.
  private static let looksPerInstant = 64
  private static let spinSleep: UInt64 = 500_000
  /// The clock stays there: one that shows "never" reaches no deadline.
  private static let lastMoment = UInt64.max - 1
  private static let lastDestructorRound = Int(PTHREAD_DESTRUCTOR_ITERATIONS) - 1

  init(start: UInt64, tick: UInt64, seed: UInt64?, idlePolicy: VirtualTime.IdlePolicy, patience: Patience) {
    choices = seed.map { SplitMix(state: $0) }
    clock = Atomic(min(start, Self.lastMoment))
    self.tick = tick
    self.idlePolicy = idlePolicy
    self.patience = patience
  }

  deinit { closeInterruption() }  // no thread drives: participants retain the turns

  /// While no thread waits for a real event. Created again when one does.
  private func closeInterruption() {
    if interruption >= 0 { _ = rlc_kernel_default().pointee.close(nil, interruption) }
    interruption = -1
  }

  /// The clock, in nanoseconds. Thread: any; no lock.
  var now: UInt64 { clock.load(ordering: .acquiring) }

  /// The same for users, whose reading moves it by a tick.
  func readClock() -> UInt64 {
    guard tick != 0 else { return now }
    var seen = now
    while true {
      let next = min(rlc_time_add(seen, tick), Self.lastMoment)
      let (exchanged, original) = clock.weakCompareExchange(
        expected: seen, desired: next, ordering: .acquiringAndReleasing)
      if exchanged { return next }
      seen = original
    }
  }

  // MARK: Taking part

  /// The calling thread's participant, of whatever turns. A thread takes part in one virtual time at a time.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let status = pthread_key_create(&key, participantThreadEnds)
    precondition(status == 0, "pthread_key_create failed: error \(status)")
    return key
  }()

  private var current: Participant? {
    guard let own = Turns.stored, own.turns === self, !own.isAway else { return nil }
    return own
  }

  /// Also one that is away.
  private static var stored: Participant? {
    // What `adopt` has retained, until the thread's end, or until the thread takes part in other turns.
    pthread_getspecific(key).map { Unmanaged<Participant>.fromOpaque($0).takeUnretainedValue() }
  }

  /// The thread becomes a participant, unless it is one. Its loop, if it has one, must be of these turns.
  func enterCurrentThread() -> Participant {
    if let participant = current { return participant }
    refuseOthers()
    if Kernel.current?.turns !== self { VirtualKernel.make(self).enter() }
    if let own = Turns.stored {
      if own.turns === self { return comeBack(own) }
      // It takes part in others from now on: nobody can wait for it there any more.
      pthread_setspecific(Turns.key, nil)
      own.departure.happen()
      Unmanaged.passUnretained(own).release()
    }
    let participant = Participant(of: self)
    join(participant)
    adopt(participant)
    return participant
  }

  /// The same one, since others may wait for its departure.
  private func comeBack(_ participant: Participant) -> Participant {
    participant.isAway = false
    join(participant)
    lock.withLock { awaitTurn(participant) }
    return participant
  }

  /// Puts a new participant into the queue, perhaps before its thread exists.
  func join(_ participant: Participant) {
    lock.withLock {
      participants.append(participant)
      makeRunnable(participant)
    }
  }

  /// The thread of one that has joined was not made.
  func forget(_ participant: Participant) {
    lock.withLock {
      runnable.removeAll { $0 === participant }
      end(participant)
    }
  }

  /// Makes the calling thread the thread of a participant that is in the queue already, and waits for its turn.
  func adopt(_ participant: Participant) {
    pthread_setspecific(Turns.key, Unmanaged.passRetained(participant).toOpaque())
    lock.withLock {
      participant.threadID = Participant.callingThreadID()
      awaitTurn(participant)
    }
  }

  /// A thread whose loop is of these turns keeps the kernel with it.
  func leaveCurrentThread() {
    guard let participant = current else { return }
    if RunLoop.existing == nil { Kernel.leave() }
    participant.isAway = true
    lock.withLock { end(participant) }
  }

  /// Lock held.
  private func end(_ participant: Participant) {
    participants.removeAll { $0 === participant }
    if holder === participant { holder = nil }
    guard holder == nil, !isDriving else { return }
    driveLocked(as: nil)
    // This thread cannot wait for reality: one that is blocked does it.
    if holder == nil, !isDriving, let other = blocked.first { pthread_cond_signal(other.condition) }
  }

  /// glibc calls destructors in up to four rounds as long as values are set anew. The third is behind the loop's own,
  /// so that what a loop does at its thread's end is still done in turn; in the fourth ThreadSanitizer gives the thread
  /// up.
  fileprivate func threadEnds(_ value: UnsafeMutableRawPointer) {
    let participant = Unmanaged<Participant>.fromOpaque(value)
    participant.takeUnretainedValue().destructorRounds += 1
    if participant.takeUnretainedValue().destructorRounds < Turns.lastDestructorRound {
      pthread_setspecific(Turns.key, value)
    } else {
      let own = participant.takeUnretainedValue()
      own.departure.happen()
      if !own.isAway { lock.withLock { end(own) } }
      participant.release()
    }
  }

  /// By a participant, the last one of what it has begun: the others go on until the clock would have to move, which
  /// stands still from then on. Those that are left, in words.
  func finish() -> [String] {
    letOthersGoOn()
    let own = enterCurrentThread()
    return lock.withLock {
      isOver = true
      // Not with the last reference, which the thread of the body holds until its end, behind the return of the run.
      if !isDriving { closeInterruption() }
      return participants.filter { $0 !== own }.map { describe($0) }
    }
  }

  /// Until the clock would have to move.
  func letOthersGoOn() {
    block(
      enterCurrentThread(),
      Participant.Wait(deadline: now, purpose: "what the others can still do (VirtualTime.run)"))
  }

  // MARK: Blocking

  /// Blocks until what is waited for has come or the clock has reached the deadline, and until the turn comes.
  func block(_ participant: Participant, _ wait: Participant.Wait) {
    lock.withLock { blockLocked(participant, wait) }
  }

  func blockLocked(_ participant: Participant, _ wait: Participant.Wait) {
    participant.looks = 0
    participant.wait = wait
    blocked.append(participant)
    holder = nil
    awaitTurn(participant)
  }

  private func awaitTurn(_ participant: Participant) {
    while holder !== participant {
      if holder == nil, !isDriving {
        driveLocked(as: participant)
      } else {
        let seen = progress
        if !lock.wait(participant.condition, patience) { standstill(since: seen) }
      }
    }
  }

  /// Makes all runnable who wait for this word. Lock held.
  func wakeLocked(_ word: UInt) {
    for waiter in blocked where waiter.wait?.word == word { makeRunnable(waiter) }
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
    guard participant.looks >= Turns.looksPerInstant else { return }
    let deadline = min(rlc_time_add(now, Turns.spinSleep), Turns.lastMoment)
    block(participant, Participant.Wait(deadline: deadline, purpose: "a moment, since it spins"))
  }

  /// Puts a new or blocked participant behind those that can run. Lock held.
  func makeRunnable(_ participant: Participant) {
    if participant.wait != nil {
      participant.wait = nil
      blocked.removeAll { $0 === participant }
    }
    runnable.append(participant)
    progress += 1
    if isDriving {
      interrupt()
    } else if holder == nil, let other = blocked.first {
      pthread_cond_signal(other.condition)
    }
  }

  // MARK: Choices

  /// An index. Lock held.
  func chooseLocked(among count: Int) -> Int { choices?.below(count) ?? 0 }

  /// From now on the executor runs what participants enqueue for the default one; nil: that does.
  func setPool(_ executor: RunLoop.Executor?) {
    let old = lock.withLock {
      defer { pool = executor }
      return pool
    }
    withExtendedLifetime(old) {}
  }

  var jobPool: RunLoop.Executor? { lock.withLock { pool } }

  // MARK: Passing the turn on

  /// Gives the turn to a participant. `participant` is the calling thread's, and blocked, or nil: then this never
  /// waits, and may leave the turn free.
  private func driveLocked(as participant: Participant?) {
    isDriving = true
    defer { isDriving = false }
    var hasReported = false
    while holder == nil {
      if choices != nil, !runnable.isEmpty { _ = wakeReadyWaiters() }  // they could go on as well
      if !runnable.isEmpty {
        let next = runnable.remove(at: chooseLocked(among: runnable.count))
        holder = next
        progress += 1
        pthread_cond_signal(next.condition)
      } else if wakeReadyWaiters() || moveClock() {
        continue
      } else if participant == nil || blocked.isEmpty {
        return
      } else if case .report(let report) = idlePolicy, !hasReported, !isOver {
        hasReported = true
        lock.withoutLock(report)
      } else {
        waitForReality()
      }
    }
  }

  /// An epoll descriptor can be polled itself: readable means that a wait would find an event.
  private func wakeReadyWaiters() -> Bool {
    let waiters = blocked.filter { $0.wait!.descriptor >= 0 }
    guard !waiters.isEmpty else { return false }
    var entries = waiters.map { pollfd(fd: $0.wait!.descriptor, events: $0.wait!.events, revents: 0) }
    guard poll(&entries, nfds_t(entries.count), 0) > 0 else { return false }
    for (waiter, entry) in zip(waiters, entries) where entry.revents != 0 { makeRunnable(waiter) }
    return true
  }

  /// Goes to the next deadline and serves exactly one timer or one participant. False if there is none.
  private func moveClock() -> Bool {
    if isOver { return false }
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
    progress += 1
    if time > now { clock.store(time, ordering: .releasing) }
  }

  // MARK: Reality

  /// Waits, without the lock, for an event from outside on any of the blocked participants' descriptors.
  private func waitForReality() {
    if interruption < 0 { interruption = rlc_kernel_default().pointee.eventfd_create(nil) }
    var entries = blocked.filter { $0.wait!.descriptor >= 0 }
      .map { pollfd(fd: $0.wait!.descriptor, events: $0.wait!.events, revents: 0) }
    entries.append(pollfd(fd: interruption, events: Int16(POLLIN), revents: 0))
    let seen = progress
    var found: Int32 = 0
    lock.withoutLock { found = poll(&entries, nfds_t(entries.count), Int32(clamping: patience.milliseconds)) }
    if found == 0 { standstill(since: seen) }
    var count: UInt64 = 0
    _ = read(interruption, &count, 8)
  }

  /// Nothing has gone on for as long as the patience is: said once. Lock held.
  private func standstill(since seen: UInt64) {
    guard seen == progress, toldProgress != progress, !isOver else { return }
    toldProgress = progress
    let text = "VirtualTime: nothing has gone on for \(patience.duration) of the machine's time.\n\(describeLocked())\n"
    lock.withoutLock { patience.report(text) }
  }

  /// Something changed that a wait for reality does not see. Lock held.
  func interrupt() {
    var one: UInt64 = 1
    if isDriving, interruption >= 0 { _ = write(interruption, &one, 8) }
  }
}

private func participantThreadEnds(_ value: UnsafeMutableRawPointer?) {
  guard let value else { return }
  // What `adopt` has retained, until `leave`.
  Unmanaged<Participant>.fromOpaque(value).takeUnretainedValue().turns.threadEnds(value)
}
