import RunLoopKit
internal import RunLoopLibc
import RunLoopTesting

/// A gate opens once and stays open. Threads wait until it is open.
final class ThreadGate: @unchecked Sendable {
  private let virtual: VirtualTime.Gate?
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var isOpen = false  // guarded by mutex

  init(_ virtual: VirtualTime.Gate? = nil) {
    self.virtual = virtual
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  func open() {
    virtual?.open()
    pthread_mutex_lock(mutex)
    isOpen = true
    pthread_cond_broadcast(condition)
    pthread_mutex_unlock(mutex)
  }

  /// Waits until the gate is open or the deadline has come; returns whether it is open.
  @discardableResult
  func wait(until deadline: RunLoop.Instant = .distantFuture) -> Bool {
    if let virtual { return virtual.wait(until: deadline) }
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    var time = timespec(deadline)
    while !isOpen {
      if pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { break }
    }
    return isOpen
  }
}

extension timespec {
  /// Converts a time on the monotonic clock.
  init(_ instant: RunLoop.Instant) {
    self.init(
      tv_sec: Int(instant.nanoseconds / 1_000_000_000), tv_nsec: Int(instant.nanoseconds % 1_000_000_000))
  }
}
