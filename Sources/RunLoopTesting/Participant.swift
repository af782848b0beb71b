import Glibc

/// One thread that takes part. All fields are guarded by `Turns.lock`, except `looks` and `destructorRounds`: its thread's.
final class Participant: @unchecked Sendable {
  /// Signalled when this participant gets the turn, or shall move the clock.
  let condition: UnsafeMutablePointer<pthread_cond_t>
  /// Opened when it leaves.
  let leaving: VirtualTime.Gate?
  /// What it is blocked in; nil while it can run.
  var wait: Wait?
  /// Looks since it last blocked.
  var looks = 0
  /// How often its thread's destructors have been called.
  var destructorRounds = 0

  struct Wait {
    /// The epoll descriptor whose readability ends the wait, or -1.
    let epoll: Int32
    let deadline: UInt64
  }

  init(leaving: VirtualTime.Gate? = nil) {
    self.leaving = leaving
    condition = .allocate(capacity: 1)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
  }
}

/// A mutex that condition variables can be used with.
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

  /// Gives the lock up for the time of `body`. The caller holds it.
  func withoutLock(_ body: () -> Void) {
    pthread_mutex_unlock(mutex)
    body()
    pthread_mutex_lock(mutex)
  }

  /// The caller holds the lock.
  func wait(_ condition: UnsafeMutablePointer<pthread_cond_t>) {
    pthread_cond_wait(condition, mutex)
  }
}
