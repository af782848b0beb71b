/// Decides which of a kernel's threads runs: the virtual time of RunLoopTesting. Without one the system does.
///
/// RunLoopKit makes its waits for another thread through it, but not the waits of loops. Of its calls only
/// `isUnchanged` calls back: RunLoopKit may hold a lock when it calls `wake`.
package protocol TurnTaking: AnyObject, Sendable {
  /// Sleeps until `wake` of the same word, or until the deadline on the monotonic clock; it may return earlier.
  ///
  /// - Parameter isUnchanged: Called once, so that a change whose `wake` follows is not missed. False: no sleep.
  func wait(on word: UInt, until deadline: UInt64, for purpose: String, while isUnchanged: () -> Bool)
  /// Wakes the threads that sleep on the word, which has changed. Thread: any, also one that takes no turns.
  func wake(_ word: UInt)
  /// Sleeps until the descriptor can be written: 1; 0 at the deadline, -errno.
  func waitUntilWritable(_ fileDescriptor: Int32, until deadline: UInt64, for purpose: String) -> Int32
  /// Which of so many jobs that wait runs next: an index. Thread: one that takes turns.
  func choose(among count: Int) -> Int
  /// Calls `body` once so much later, by the calling thread's loop, unless what is returned is called before. Nil if
  /// the loop has ended.
  func alarm(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> (@Sendable () -> Void)?
  /// Gives a thread that is about to be created its place in the queue.
  func threadWillStart() -> any ThreadPlace
}

/// A thread's place among those that take turns.
package protocol ThreadPlace: AnyObject, Sendable {
  /// Waits for the first turn: the first call on the new thread. The thread takes turns until its end, after the end of
  /// its loop.
  func begin()
  /// The thread could not be created.
  func giveUp()
  /// Sleeps until the thread has had its last turn. Thread: any.
  func waitForLastTurn(for purpose: String)
}
