internal import Synchronization

/// A futex lock. Not recursive, and never held while user code runs.
///
/// In a child of fork(2) it does nothing: a thread of the parent may have held it at that moment, and the child has no other
/// thread that could use what it guards. (A callout that forks returns into its pass in both processes.)
struct Lock: ~Copyable, Sendable {
  private let mutex = Mutex<Void>(())
  private let forkGeneration = Kernel.forkGeneration

  @inline(__always)
  borrowing func lock() {
    if forkGeneration == Kernel.forkGeneration { mutex._unsafeLock() }
  }

  @inline(__always)
  borrowing func unlock() {
    if forkGeneration == Kernel.forkGeneration { mutex._unsafeUnlock() }
  }

  @inline(__always)
  borrowing func withLock<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    lock()
    defer { unlock() }
    return try body()
  }
}
