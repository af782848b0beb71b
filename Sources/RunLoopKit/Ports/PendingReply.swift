internal import Synchronization

/// The answer to one request: comes once, or is known not to come, or is not wanted any more.
package final class PendingReply: @unchecked Sendable {
  private let lock = Lock()
  private var answer: Result<RunLoop.Message, any Error>?
  private let isSettled = Atomic<Bool>(false)
  private let invalidation = Invalidation()
  /// Rung when the answer has come: a message in it makes the asker's loop look.
  package let bell: Mailbox
  /// Of a task, which no bell wakes: called once with the answer, with no lock held.
  private let whenOver: (@Sendable (Result<RunLoop.Message, any Error>) -> Void)?

  init(bell: Mailbox, whenOver: (@Sendable (Result<RunLoop.Message, any Error>) -> Void)? = nil) {
    self.bell = bell
    self.whenOver = whenOver
  }

  /// No loop of the program waits for it.
  package var isAwaitedByTask: Bool { whenOver != nil }

  var isOver: Bool { isSettled.load(ordering: .acquiring) }
  var isValid: Bool { lock.forkGeneration == Kernel.forkGeneration && !isOver }

  /// The first counts. - Throws: `.portInvalid` if it is over already; the parcel's errors, and then it is not.
  package func settle(_ parcel: borrowing Parcel) throws(RunLoopError) {
    guard lock.forkGeneration == Kernel.forkGeneration else { throw .forked }
    try lock.withLock { () throws(RunLoopError) in
      guard !isOver else { throw .portInvalid }
      try parcel.moveDescriptors()
      finish(.success(parcel.message))
    }
    hasSettled()
  }

  /// With a message that came from elsewhere, or with why none comes. False if it is over already.
  @discardableResult
  package func settle(_ answer: Result<RunLoop.Message, any Error>) -> Bool {
    guard lock.forkGeneration == Kernel.forkGeneration else { return false }
    let isFirst = lock.withLock {
      guard !isOver else { return false }
      finish(answer)
      return true
    }
    if isFirst { hasSettled() }
    return isFirst
  }

  /// Under the lock.
  private func finish(_ answer: Result<RunLoop.Message, any Error>) {
    self.answer = answer
    isSettled.store(true, ordering: .releasing)
  }

  private func hasSettled() {
    if let whenOver {
      if let answer = takeAnswer() { whenOver(answer) }
    } else {
      _ = bell.accept(RunLoop.Message())
    }
    invalidation.invalidate()
  }

  /// Nil while there is none.
  func takeAnswer() -> Result<RunLoop.Message, any Error>? {
    let taken = lock.withLock { answer.take() }
    if case .success(let message)? = taken { message.revealDescriptors() }
    return taken
  }

  func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation { invalidation.observe(body) }
}
