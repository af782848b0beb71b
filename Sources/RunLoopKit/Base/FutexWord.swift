internal import CRunLoopCore
internal import Synchronization

/// A number on which threads sleep until it changes.
package struct FutexWord: ~Copyable, Sendable {
  private let word = Atomic<UInt32>(0)

  package init() {}

  package borrowing func load() -> UInt32 { word.load(ordering: .acquiring) }

  /// Stores the number and wakes no thread. Only for changes that no thread waits for.
  package borrowing func store(_ value: UInt32) { word.store(value, ordering: .sequentiallyConsistent) }

  /// Stores `value` and returns true if the number is `expected`. Wakes no thread: a sleeping thread sees the value
  /// when the next change wakes it, or at its deadline.
  package borrowing func exchange(from expected: UInt32, to value: UInt32) -> Bool {
    word.compareExchange(expected: expected, desired: value, ordering: .sequentiallyConsistent).exchanged
  }

  /// Does what `exchange` does, and wakes all sleepers if the number was changed.
  package borrowing func change(from expected: UInt32, to value: UInt32) -> Bool {
    guard exchange(from: expected, to: value) else { return false }
    wakeAll()
    return true
  }

  /// Adds 1, and wakes all sleepers.
  package borrowing func advance() {
    word.wrappingAdd(1, ordering: .sequentiallyConsistent)
    wakeAll()
  }

  /// Sleeps while the number is `seen`. Returns false if it is still `seen` at the deadline.
  ///
  /// - Parameter purpose: What the thread waits for, in words. Passed to `TurnTaking`.
  package borrowing func wait(while seen: UInt32, _ deadline: Deadline, for purpose: @autoclosure () -> String) -> Bool
  {
    while load() == seen {
      if deadline.hasPassed { return load() != seen }
      withUnsafePointer(to: word) { address in
        guard let turns = Kernel.current?.turns else {
          return rlc_futex_wait_until(address, seen, deadline.nanoseconds)
        }
        ParkedWaits.wait(on: UInt(bitPattern: address), by: turns, until: deadline.nanoseconds, for: purpose()) {
          // `ParkedWaits` has listed this wait. All accesses are sequentially consistent, so either this load sees a
          // change, or the thread that makes the change finds the wait.
          word.load(ordering: .sequentiallyConsistent) == seen
        }
      }
    }
    return true
  }

  private borrowing func wakeAll() {
    withUnsafePointer(to: word) { address in
      rlc_futex_wake(address, Int32.max)
      ParkedWaits.wake(UInt(bitPattern: address))
    }
  }
}
