internal import CRunLoopCore
internal import Synchronization

/// A futex lock. Not recursive, and never held while user code runs.
///
/// The standard library's lock is not used: it is a priority-inheritance futex behind calls that ThreadSanitizer cannot
/// see into. In a child of fork(2) `lock` returns at once if an inherited lock is held: a thread of the parent may have
/// held it at the fork, and would never unlock it in the child. This is safe, since only one thread of the child uses
/// what an inherited lock guards. The child does take such locks, because a callout that forks returns into its pass in
/// the child, too.
package struct Lock: ~Copyable, Sendable {
  private static let free: UInt32 = 0
  private static let held: UInt32 = 1
  /// A thread may be asleep on the lock, so `unlock` wakes one.
  private static let contended: UInt32 = 2
  /// How often a thread tries again before it sleeps. A critical section takes a few hundred instructions, so a holder
  /// that runs unlocks before a sleep would begin.
  private static let spins = 40

  private let word = Atomic<UInt32>(Lock.free)
  /// Identifies the process that made the lock.
  package let forkGeneration = Kernel.forkGeneration

  package init() {}

  @inline(__always)
  @usableFromInline
  package borrowing func lock() {
    if word.compareExchange(expected: Lock.free, desired: Lock.held, ordering: .acquiring).exchanged { return }
    lockContended()
  }

  @inline(__always)
  @usableFromInline
  package borrowing func unlock() {
    if word.exchange(Lock.free, ordering: .releasing) == Lock.contended { wakeOne() }
  }

  // Inlined in other modules too: otherwise each call there goes through a generic function.
  @inlinable
  @inline(__always)
  package borrowing func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    lock()
    defer { unlock() }
    return try body()
  }

  @inline(never)
  private borrowing func lockContended() {
    guard forkGeneration == Kernel.forkGeneration else { return }
    for _ in 0..<Lock.spins {
      if word.load(ordering: .relaxed) == Lock.free,
        word.compareExchange(expected: Lock.free, desired: Lock.held, ordering: .acquiring).exchanged
      {
        return
      }
    }
    while word.exchange(Lock.contended, ordering: .acquiring) != Lock.free {
      withUnsafePointer(to: word) { rlc_futex_wait($0, Lock.contended) }
    }
  }

  @inline(never)
  private borrowing func wakeOne() {
    withUnsafePointer(to: word) { rlc_futex_wake($0, 1) }
  }
}
