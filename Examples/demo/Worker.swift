@preconcurrency import Glibc  // stderr is a variable there
import RunLoopKit
import Synchronization

extension Demo {
  struct SystemError: Error, CustomStringConvertible {
    let call: String
    let code: Int32

    /// With the remedy, if one is known.
    var description: String { RunLoopError.system(code, call: call).description }
  }

  /// Ends the process: something that every story needs cannot be had, and other threads may wait for it in vain.
  static func end(because error: any Error) -> Never {
    fputs("demo: \(error)\n", stderr)
    _exit(1)
  }

  /// Ends the process if it lacks descriptors, memory or threads.
  static func endIfShort(_ error: any Error) { if isShortage(error) { end(because: error) } }

  private static func isShortage(_ error: any Error) -> Bool {
    let code = (error as? SystemError)?.code ?? (error as? RunLoopError)?.errno
    return [EMFILE, ENFILE, ENOMEM, ENOBUFS, ENOSPC, EAGAIN].contains(code)
  }

  /// A thread of one's own. Whoever starts it joins it.
  final class Worker: Sendable {
    private let thread: pthread_t

    init(_ body: @escaping @Sendable () -> Void) throws {
      let start = Unmanaged.passRetained(Start(body))
      var thread = pthread_t()
      let code = pthread_create(&thread, nil, runWorker, start.toOpaque())
      guard code == 0 else {
        start.release()
        throw SystemError(call: "pthread_create", code: code)
      }
      self.thread = thread
    }

    /// Returns after the thread has ended, and its run loop with it.
    func join() { pthread_join(thread, nil) }
  }

  fileprivate final class Start {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// One value that one thread gives and another waits for.
  final class Handover<Value: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value?  // only while the mutex is held

    init() {
      pthread_mutex_init(mutex, nil)
      pthread_cond_init(condition, nil)
    }

    deinit {
      pthread_cond_destroy(condition)
      pthread_mutex_destroy(mutex)
      condition.deallocate()
      mutex.deallocate()
    }

    func give(_ newValue: Value) {
      pthread_mutex_lock(mutex)
      value = newValue
      pthread_cond_signal(condition)
      pthread_mutex_unlock(mutex)
    }

    func take() -> Value {
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      while true {
        if let value { return value }
        pthread_cond_wait(condition, mutex)
      }
    }
  }

  static func sleep(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var request = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    var rest = timespec()
    while nanosleep(&request, &rest) != 0 && errno == EINTR { request = rest }
  }

  /// Looks every millisecond until the condition holds; false when patience ended first.
  @discardableResult
  static func wait(until condition: () -> Bool) -> Bool {
    let deadline = RunLoop.Instant.now.advanced(by: patience)
    while !condition() {
      if RunLoop.Instant.now >= deadline { return false }
      sleep(.milliseconds(1))
    }
    return true
  }

  /// A number that several threads count up.
  final class Counter: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .acquiring) }

    /// Adds one and answers the new number.
    @discardableResult
    func increment() -> Int { count.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue }
  }
}

/// A C callback must not inherit an actor: it is a free function, isolated to nothing.
private nonisolated func runWorker(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  Unmanaged<Demo.Start>.fromOpaque(context).takeRetainedValue().body()
  return nil
}
