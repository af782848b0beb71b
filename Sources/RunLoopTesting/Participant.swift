internal import RunLoopLibc

/// One thread that takes part in a virtual time. The turns retain it until it leaves. `Turns.lock` guards all fields
/// except `polls`, `isAway` and `destructorRounds`, which only its thread uses.
final class Participant: @unchecked Sendable {
  let turns: Turns
  /// Signalled when this participant gets the turn, or has to move the clock.
  let condition: UnsafeMutablePointer<pthread_cond_t>
  /// Happens when the participant leaves for good.
  let departure = Occasion()
  /// The wait that blocks it; nil while it can run.
  var wait: Wait?
  /// It has left, and may come back.
  var isAway = false
  /// The number of its polls since it last blocked.
  var polls = 0
  /// The number of rounds of destructors that the system has begun at the end of its thread.
  var destructorRounds = 0
  /// The system's number of its thread; 0 before the thread's first step.
  var threadID: Int32 = 0

  struct Wait {
    /// The descriptor whose readiness for `events` ends the wait, or -1.
    var descriptor: Int32 = -1
    var events = Int16(POLLIN)
    /// The address of the number whose change ends the wait, or 0.
    var word: UInt = 0
    let deadline: UInt64
    /// What the participant waits for, in words for `description`.
    let purpose: String
  }

  init(of turns: Turns) {
    self.turns = turns
    condition = .allocate(capacity: 1)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
  }
}

/// A mutex that works with condition variables.
final class TurnLock: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  init() {
    mutex = .allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  func withLock<R>(_ body: () -> R) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Releases the lock during `body`. The caller holds it.
  func withoutLock(_ body: () -> Void) {
    pthread_mutex_unlock(mutex)
    body()
    pthread_mutex_lock(mutex)
  }

  /// The caller holds the lock.
  func wait(_ condition: UnsafeMutablePointer<pthread_cond_t>) { pthread_cond_wait(condition, mutex) }

  /// The caller holds the lock. Returns false once the time of `patience` has passed on the system's clock.
  func wait(_ condition: UnsafeMutablePointer<pthread_cond_t>, _ patience: Patience) -> Bool {
    var moment = timespec()
    clock_gettime(CLOCK_MONOTONIC, &moment)
    moment.tv_sec += patience.milliseconds / 1000
    moment.tv_nsec += patience.milliseconds % 1000 * 1_000_000
    if moment.tv_nsec >= 1_000_000_000 {
      (moment.tv_sec, moment.tv_nsec) = (moment.tv_sec + 1, moment.tv_nsec - 1_000_000_000)
    }
    return pthread_cond_timedwait(condition, mutex, &moment) != ETIMEDOUT
  }
}
