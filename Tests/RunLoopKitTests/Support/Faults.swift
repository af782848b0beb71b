import Glibc
import Synchronization

/// Makes one of the kernel calls that create or register descriptors fail: one of the thread that plans it, so that no loop of
/// another thread takes it. Needs `CountingKernel.install`.
enum Faults {
  /// How many more calls until the one that fails; 0 or less: none does.
  private static let remaining = Atomic<Int>(0)
  private static let thread = Atomic<pthread_t>(0)

  /// The `call`th of this thread from now on fails.
  static func plan(call: Int) {
    thread.store(pthread_self(), ordering: .sequentiallyConsistent)
    hasTakenTimerDescriptor = false
    remaining.store(call, ordering: .sequentiallyConsistent)
  }

  private static let memory = Atomic<pthread_t>(0)

  /// The next memory that this thread asks for is not there.
  static func planMemory() { memory.store(pthread_self(), ordering: .sequentiallyConsistent) }

  /// True if it was asked for.
  static func endMemory() -> Bool { memory.exchange(0, ordering: .sequentiallyConsistent) == 0 }

  static var takesMemory: Bool {
    memory.compareExchange(expected: pthread_self(), desired: 0, ordering: .sequentiallyConsistent).exchanged
  }

  /// The call that has failed made a timerfd, or had a port set watch it. A loop does without.
  nonisolated(unsafe) static var hasTakenTimerDescriptor = false

  /// True if it came to that.
  static func end() -> Bool { remaining.exchange(0, ordering: .sequentiallyConsistent) <= 0 }

  /// `-error` if this call is to fail.
  static func next(_ error: Int32, isForTimer: Bool = false) -> Int32? {
    guard remaining.load(ordering: .relaxed) > 0, thread.load(ordering: .relaxed) == pthread_self() else { return nil }
    guard remaining.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 else { return nil }
    hasTakenTimerDescriptor = isForTimer
    return -error
  }
}
