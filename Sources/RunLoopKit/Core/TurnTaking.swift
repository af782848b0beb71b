internal import CRunLoopCore

/// Decides which of a kernel's threads runs: the virtual time of RunLoopTesting. Without one the system does.
///
/// Through it go the waits of the kit that are no waits of a loop: of a thread for another one. None of its calls
/// calls back into the kit but `isUnchanged`: `wake` may come under a lock of the kit's.
package protocol TurnTaking: AnyObject, Sendable {
  /// Sleeps until `wake` of the same word, or until the deadline on the kit's monotonic clock; perhaps shorter.
  ///
  /// - Parameter isUnchanged: Asked once, so that a change with a `wake` that follows it is not missed. False: no
  ///   sleep.
  func wait(on word: UInt, until deadline: UInt64, for purpose: String, while isUnchanged: () -> Bool)
  /// The word has changed. Thread: any, also one that takes no part.
  func wake(_ word: UInt)
  /// Sleeps until the descriptor can be written: 1; 0 at the deadline, -errno.
  func waitUntilWritable(_ fileDescriptor: Int32, until deadline: UInt64, for purpose: String) -> Int32
  /// A thread is about to be made: it has its place in the queue before it exists.
  func threadWillStart() -> any ThreadPlace
}

/// A thread's place among those that take turns.
package protocol ThreadPlace: AnyObject, Sendable {
  /// On the new thread, first of all: waits for its turn. It takes part until its end, behind the end of its loop.
  func begin()
  /// The system has not made the thread.
  func giveUp()
  /// Sleeps until the thread has had its last turn. Thread: any; one that takes turns of others sleeps by those.
  func waitForLastTurn(for purpose: String)
}

/// Until when a thread waits for another one: on the clock of whoever decides about its turns.
package struct Deadline {
  package let nanoseconds: UInt64

  package static let never = Deadline(nil)

  package init(_ timeout: Duration?) {
    nanoseconds = timeout.map { Time.add(Self.now(), $0.nanosecondsRoundedUp) } ?? Time.forever
  }

  /// A moment from now, if that is earlier: for who looks again and again.
  var orSoon: Deadline {
    Deadline(nanoseconds: min(nanoseconds, Time.add(Self.now(), 1_000_000)))
  }

  private init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  var hasPassed: Bool { nanoseconds != Time.forever && nanoseconds <= Self.now() }

  /// The system sleeps by its own clock, also where a test has scripted that of the loops alone.
  private static func now() -> UInt64 {
    Kernel.current?.turns == nil ? rlc_now(RLC_CLOCK_MONOTONIC) : Kernel.now()
  }
}
