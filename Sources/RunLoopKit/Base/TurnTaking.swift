/// Decides which of a kernel's threads runs: these threads take turns. RunLoopTesting implements it for virtual time.
///
/// A thread of such a kernel calls this when it waits for another thread, but not when its loop waits. An
/// implementation calls nothing of RunLoopKit but `isUnchanged`, since RunLoopKit may hold a lock when it calls `wake`.
package protocol TurnTaking: AnyObject, Sendable {
  /// Sleeps until `wake` is called with the same word, or until the deadline on the monotonic clock. It may return
  /// earlier.
  ///
  /// - Parameter isUnchanged: Called once, before the sleep. If it returns false, the word has changed already, and the
  ///   thread must not sleep.
  func wait(on word: UInt, until deadline: UInt64, for purpose: String, while isUnchanged: () -> Bool)
  /// Wakes the threads that sleep on the word, which has changed. - Thread: Any, also one that takes no turns.
  func wake(_ word: UInt)
  /// Sleeps until the descriptor can be written, and returns 1. Returns 0 at the deadline, and -errno for a failure.
  func waitUntilWritable(_ fileDescriptor: Int32, until deadline: UInt64, for purpose: String) -> Int32
  /// Returns the index of the job that runs next, of `count` jobs that wait. - Thread: One that takes turns.
  func choose(among count: Int) -> Int
  /// Has the calling thread's loop call `body` once after the delay, unless the returned closure is called before.
  /// Returns nil if the loop has ended.
  func alarm(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> (@Sendable () -> Void)?
  /// Gives a thread that is about to be created its place in the queue of those that wait for a turn.
  func threadWillStart() -> any ThreadPlace
}

/// A thread's place among those that take turns.
package protocol ThreadPlace: AnyObject, Sendable {
  /// Waits for the first turn. This is the first call on the new thread, which takes turns until its end, also after
  /// the end of its loop.
  func begin()
  /// Called if the thread could not be created.
  func giveUp()
  /// Sleeps until the thread has had its last turn. - Thread: Any.
  func waitForLastTurn(for purpose: String)
}
