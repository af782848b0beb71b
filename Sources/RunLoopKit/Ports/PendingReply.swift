internal import Synchronization

/// The answer to one request. It is settled once: with the answer, or with an error if no answer can come any more, the
/// request's time is over, its task is cancelled, or its loop ends.
package final class PendingReply: @unchecked Sendable {
  private let lock = Lock()
  private var answer: Result<RunLoop.Message, any Error>?
  private let isSettled = Atomic<Bool>(false)
  private let invalidation = Invalidation()
  /// Gets an empty message when the reply is settled. The message wakes the loop that runs for the request.
  package let bell: Mailbox
  /// Set for a request of a task, because the bell wakes no task. Called once with the answer, with no lock held.
  private let whenOver: (@Sendable (Result<RunLoop.Message, any Error>) -> Void)?

  init(bell: Mailbox, whenOver: (@Sendable (Result<RunLoop.Message, any Error>) -> Void)? = nil) {
    self.bell = bell
    self.whenOver = whenOver
  }

  /// True if a task awaits the answer, so that no loop runs for it.
  package var isAwaitedByTask: Bool { whenOver != nil }

  var isOver: Bool { isSettled.load(ordering: .acquiring) }
  var isValid: Bool { lock.forkGeneration == Kernel.forkGeneration && !isOver }

  /// Settles the reply with a message. - Throws: `.portInvalid` if the reply is settled already; `.forked`; the errors
  /// of `Parcel.moveDescriptors`, which leave the reply unsettled.
  package func settle(_ parcel: borrowing Parcel) throws(RunLoopError) {
    guard lock.forkGeneration == Kernel.forkGeneration else { throw .forked }
    try lock.withLock { () throws(RunLoopError) in
      guard !isOver else { throw .portInvalid }
      try parcel.moveDescriptors()
      finish(.success(parcel.message))
    }
    hasSettled()
  }

  /// Settles the reply with a message from another process, or with an error. False if it is settled already.
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

  /// Removes the answer; nil while there is none.
  func takeAnswer() -> Result<RunLoop.Message, any Error>? {
    let taken = lock.withLock { answer.take() }
    if case .success(let message)? = taken { message.revealDescriptors() }
    return taken
  }

  func observe(_ body: @escaping @Sendable () -> Void) -> RunLoop.Port.Observation { invalidation.observe(body) }
}
