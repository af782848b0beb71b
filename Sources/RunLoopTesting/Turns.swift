import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

/// The turns of the participants, and the clock.
///
/// At most one participant runs (`holder`). When it blocks it passes the turn on (`driveLocked`): to the next runnable
/// participant, else to a blocked one whose descriptor has become ready. If there is neither, it moves the clock to the
/// next deadline.
final class Turns: @unchecked Sendable {
  /// Guards everything below except `clock`. A thread that holds it takes no other lock and calls no user code.
  let lock = TurnLock()
  var timers = VirtualTimers()
  private let clock: Atomic<UInt64>
  private let tick: UInt64
  private let idlePolicy: VirtualTime.IdlePolicy
  private let patience: Patience
  /// The generator of the choices. If it is nil, the participant that has been runnable for longest is next.
  private var choices: SplitMix?
  /// Runs the jobs that would go to the default executor.
  private var pool: RunLoop.Executor?
  /// All participants, in the order of joining.
  private(set) var participants: [Participant] = []
  private(set) var holder: Participant?
  private var runnable: [Participant] = []  // first in, first out
  private var blocked: [Participant] = []  // in the order of blocking
  /// A thread is in `driveLocked`, perhaps without the lock.
  private var isDriving = false
  /// An eventfd that ends a wait for real events; made when first needed.
  private var interruption: Int32 = -1
  /// True when the clock stands still for good.
  private var isOver = false
  /// Counts each step of a participant or of the clock.
  private var progress: UInt64 = 0
  /// The value of `progress` when a standstill was last reported.
  private var reportedProgress: UInt64 = .max

  /// A participant that has polled this often without blocking sleeps for `spinSleep` nanoseconds.
  private static let pollsPerInstant = 64
  private static let spinSleep: UInt64 = 500_000
  /// The clock stops at this value: `UInt64.max` means "never", and is no time.
  private static let lastMoment = UInt64.max - 1
  private static let lastDestructorRound = Int(PTHREAD_DESTRUCTOR_ITERATIONS) - 1

  init(start: UInt64, tick: UInt64, seed: UInt64?, idlePolicy: VirtualTime.IdlePolicy, patience: Patience) {
    choices = seed.map { SplitMix(state: $0) }
    clock = Atomic(min(start, Self.lastMoment))
    self.tick = tick
    self.idlePolicy = idlePolicy
    self.patience = patience
  }

  deinit { closeInterruption() }  // no thread is in `driveLocked`: participants retain the turns

  /// Closes the eventfd. No thread may be waiting for a real event; the next such wait creates the eventfd again.
  private func closeInterruption() {
    if interruption >= 0 { _ = rlc_kernel_default().pointee.close(nil, interruption) }
    interruption = -1
  }

  /// The clock, in nanoseconds. Any thread may read it without the lock.
  var now: UInt64 { clock.load(ordering: .acquiring) }

  /// Reads the clock for a user: each such reading moves the clock by a tick.
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

  /// The pthread key under which a thread stores its participant. All turns share the key, because a thread takes part
  /// in one virtual time at a time.
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

  /// The calling thread's participant, even if it is away.
  private static var stored: Participant? {
    // `adopt` has retained it until the thread ends or takes part in other turns.
    pthread_getspecific(key).map { Unmanaged<Participant>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Makes the calling thread a participant, unless it is one. If the thread has a loop, the loop must belong to these
  /// turns.
  func enterCurrentThread() -> Participant {
    if let participant = current { return participant }
    refuseOthers()
    if Kernel.current?.turns !== self { VirtualKernel.make(self).enter() }
    if let own = Turns.stored {
      if own.turns === self { return comeBack(own) }
      // The thread leaves its former turns for good, so its departure there happens now.
      pthread_setspecific(Turns.key, nil)
      own.departure.happen()
      Unmanaged.passUnretained(own).release()
    }
    let participant = Participant(of: self)
    join(participant)
    adopt(participant)
    return participant
  }

  /// Uses the same participant again, because others may wait for its departure.
  private func comeBack(_ participant: Participant) -> Participant {
    participant.isAway = false
    join(participant)
    lock.withLock { awaitTurn(participant) }
    return participant
  }

  /// Adds a new participant, and puts it into the queue, perhaps before its thread exists.
  func join(_ participant: Participant) {
    lock.withLock {
      participants.append(participant)
      makeRunnable(participant)
    }
  }

  /// Removes a participant that has joined but whose thread could not be made.
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

  /// Ends the calling thread's part. A thread with a loop of these turns keeps their kernel table, because its loop
  /// does.
  func leaveCurrentThread() {
    guard let participant = current else { return }
    if RunLoop.existing == nil { Kernel.leave() }
    participant.isAway = true
    lock.withLock { end(participant) }
  }

  /// The caller holds the lock.
  private func end(_ participant: Participant) {
    participants.removeAll { $0 === participant }
    if holder === participant { holder = nil }
    guard holder == nil, !isDriving else { return }
    driveLocked(as: nil)
    // The ending thread cannot wait for real events, so a blocked one has to.
    if holder == nil, !isDriving, let other = blocked.first { pthread_cond_signal(other.condition) }
  }

  /// glibc calls destructors in up to four rounds, as long as they set values again. The participant ends in the third
  /// round. That is after the loop's own destructor, in which the loop still takes turns, and before the fourth round,
  /// in which ThreadSanitizer ends its record of the thread.
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

  /// Ends these turns. A participant calls it last: the others run on until the clock would have to move, and then the
  /// clock stands still for good. Returns descriptions of the participants that are left.
  func finish() -> [String] {
    letOthersGoOn()
    let own = enterCurrentThread()
    return lock.withLock {
      isOver = true
      // Closed here and not in `deinit`: the body's thread holds the last reference, and ends after `run` has returned.
      if !isDriving { closeInterruption() }
      return participants.filter { $0 !== own }.map { describe($0) }
    }
  }

  /// Lets the other participants run until the clock would have to move.
  func letOthersGoOn() {
    block(
      enterCurrentThread(),
      Participant.Wait(deadline: now, purpose: "what the others can still do (VirtualTime.run)"))
  }

  // MARK: Blocking

  /// Blocks the participant until the awaited event has come or the clock has reached the deadline, and then until the
  /// participant gets the turn.
  func block(_ participant: Participant, _ wait: Participant.Wait) {
    lock.withLock { blockLocked(participant, wait) }
  }

  func blockLocked(_ participant: Participant, _ wait: Participant.Wait) {
    participant.polls = 0
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

  /// Makes all participants runnable that wait for this word. The caller holds the lock.
  func wakeLocked(_ word: UInt) {
    for waiter in blocked where waiter.wait?.word == word { makeRunnable(waiter) }
  }

  /// Fires the timers whose deadlines the ticks have passed, before a poll of the descriptors.
  func fireDueTimers() {
    guard tick != 0 else { return }  // else the clock never passes a deadline without serving it
    lock.withLock {
      while let timer = timers.next, timer.deadline <= now { timers.fire(timer) }
    }
  }

  /// Counts a wait that did not block. After `pollsPerInstant` of them the call sleeps.
  func countPoll() {
    guard let participant = current else { return }
    participant.polls += 1
    guard participant.polls >= Turns.pollsPerInstant else { return }
    let deadline = min(rlc_time_add(now, Turns.spinSleep), Turns.lastMoment)
    block(participant, Participant.Wait(deadline: deadline, purpose: "a moment, since it spins"))
  }

  /// Puts a new or blocked participant behind those that can run. The caller holds the lock.
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

  /// Chooses an index. The caller holds the lock.
  func chooseLocked(among count: Int) -> Int { choices?.below(count) ?? 0 }

  /// Sets the executor that runs the participants' jobs in place of the default executor. With nil the default executor
  /// runs them.
  func setPool(_ executor: RunLoop.Executor?) {
    let old = lock.withLock {
      defer { pool = executor }
      return pool
    }
    withExtendedLifetime(old) {}
  }

  var jobPool: RunLoop.Executor? { lock.withLock { pool } }

  // MARK: Passing the turn on

  /// Gives the turn to a participant. `participant` is the calling thread's, which waits for the turn. If `participant`
  /// is nil, the call never waits, and may leave the turn free.
  private func driveLocked(as participant: Participant?) {
    isDriving = true
    defer { isDriving = false }
    var hasReported = false
    while holder == nil {
      if choices != nil, !runnable.isEmpty { _ = wakeReadyWaiters() }  // the seed chooses among them too
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

  /// Polls the descriptors of the blocked participants, and makes those runnable whose descriptor is ready: their wait
  /// would find an event.
  private func wakeReadyWaiters() -> Bool {
    let waiters = blocked.filter { $0.wait!.descriptor >= 0 }
    guard !waiters.isEmpty else { return false }
    var entries = waiters.map { pollfd(fd: $0.wait!.descriptor, events: $0.wait!.events, revents: 0) }
    guard poll(&entries, nfds_t(entries.count), 0) > 0 else { return false }
    for (waiter, entry) in zip(waiters, entries) where entry.revents != 0 { makeRunnable(waiter) }
    return true
  }

  /// Moves the clock to the next deadline, and serves exactly one timer or participant there. Returns false if there is
  /// no deadline.
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

  // MARK: Real events

  /// Waits, without the lock, for a real event on a descriptor of any blocked participant.
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

  /// Reports, once, that no progress was made for the time of `patience`. The caller holds the lock.
  private func standstill(since seen: UInt64) {
    guard seen == progress, reportedProgress != progress, !isOver else { return }
    reportedProgress = progress
    let text = "VirtualTime: nothing has gone on for \(patience.duration) of the machine's time.\n\(describeLocked())\n"
    lock.withoutLock { patience.report(text) }
  }

  /// Ends a wait for real events, because that wait does not notice changes of these turns. The caller holds the lock.
  func interrupt() {
    var one: UInt64 = 1
    if isDriving, interruption >= 0 { _ = write(interruption, &one, 8) }
  }
}

private func participantThreadEnds(_ value: UnsafeMutableRawPointer?) {
  guard let value else { return }
  // `adopt` has retained it.
  Unmanaged<Participant>.fromOpaque(value).takeUnretainedValue().turns.threadEnds(value)
}
