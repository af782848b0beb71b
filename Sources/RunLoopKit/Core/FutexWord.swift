internal import CRunLoopCore
internal import Synchronization

/// A number on which threads sleep until it changes.
struct FutexWord: ~Copyable, Sendable {
  private let word = Atomic<UInt32>(0)

  @inline(__always)
  borrowing func load() -> UInt32 { word.load(ordering: .acquiring) }

  /// Without waking: for changes that nobody waits for.
  borrowing func store(_ value: UInt32) { word.store(value, ordering: .sequentiallyConsistent) }

  /// True if it was `expected`, and is `value` now. Wakes nobody: a sleeper sees it when the next change wakes it, or when
  /// its deadline has passed.
  borrowing func exchange(from expected: UInt32, to value: UInt32) -> Bool {
    word.compareExchange(expected: expected, desired: value, ordering: .sequentiallyConsistent).exchanged
  }

  /// As `exchange`; if it was changed, wakes all sleepers.
  borrowing func change(from expected: UInt32, to value: UInt32) -> Bool {
    guard exchange(from: expected, to: value) else { return false }
    wakeAll()
    return true
  }

  /// A number that nobody has seen before, and wakes all sleepers.
  borrowing func advance() {
    word.wrappingAdd(1, ordering: .sequentiallyConsistent)
    wakeAll()
  }

  /// Sleeps while it is `seen`: false if it still is when the deadline has passed.
  borrowing func wait(while seen: UInt32, _ deadline: RealDeadline) -> Bool {
    while load() == seen {
      if deadline.hasPassed { return load() != seen }
      withUnsafePointer(to: word) { rlc_futex_wait_until($0, seen, deadline.nanoseconds) }
    }
    return true
  }

  private borrowing func wakeAll() {
    withUnsafePointer(to: word) { rlc_futex_wake($0, Int32.max) }
  }
}

/// Until when a thread waits for another one. By the system's clock, also where loops have a virtual one: such a wait is
/// no wait of a loop.
struct RealDeadline {
  let nanoseconds: UInt64

  static let never = RealDeadline(nil)

  init(_ timeout: Duration?) {
    nanoseconds = timeout.map { rlc_time_add(rlc_now(RLC_CLOCK_MONOTONIC), $0.nanosecondsRoundedUp) } ?? Time.forever
  }

  /// A moment from now, if that is earlier: for who looks again and again.
  var orSoon: RealDeadline {
    RealDeadline(nanoseconds: min(nanoseconds, rlc_time_add(rlc_now(RLC_CLOCK_MONOTONIC), 1_000_000)))
  }

  private init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  var hasPassed: Bool { nanoseconds != Time.forever && nanoseconds <= rlc_now(RLC_CLOCK_MONOTONIC) }
}
