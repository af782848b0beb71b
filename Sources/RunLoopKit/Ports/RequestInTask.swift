internal import Synchronization

extension RunLoop.Port.SendRight {
  /// Sends a message, and suspends the task until the answer has arrived [RLK-ASYNC-16].
  ///
  /// Unlike the synchronous form, this call runs no loop and takes no mode. A thread of RunLoopPorts receives the
  /// answers of other processes if no loop of the program does [RLK-ASYNC-20]. The message's `reply` becomes a right to
  /// answer this request once. While the port is full, the message waits as in `send(_:timeout:)`. When the task stops
  /// waiting, the call withdraws the right to answer. An answer that is sent later throws `.portInvalid` at its sender;
  /// one that a port's body returns is counted in that port's `undeliveredReplies` [RLK-ASYNC-17].
  /// - Parameters:
  ///   - message: The question; the call replaces its `reply`.
  ///   - timeout: How long sending and answering may take together; with zero or less, the answer must come at once.
  ///     Nil means no limit.
  /// - Returns: The answer.
  /// - Throws: `CancellationError` if the task was cancelled, and `.timedOut` if the limit was over, before the answer
  ///   came. The call then withdraws a message that was not sent yet; the descriptors of a sent one are the receiver's.
  ///   `.noReply` if the right to answer is released unused, for example because the port is gone with the message in
  ///   its queue, or its last loop has ended [RLK-ASYNC-18]. `.portInvalid`; else as `send(_:timeout:)`.
  /// - Thread: Any. - Re-entry: Allowed. - Blocks: No. - Complexity: As `send(_:timeout:)`.
  nonisolated(nonsending) public func request(
    _ message: RunLoop.Message, timeout: Duration? = nil
  ) async throws -> RunLoop.Message {
    try Task.checkCancellation()
    let bell = Mailbox(limit: 1)  // only because `PendingReply` needs one: it gets no message
    defer { bell.close() }
    return try await Resumption<RunLoop.Message>.wait(timeout: timeout) { task in
      let pending = PendingReply(bell: bell) { task.end($0) }
      let sending = AwaitedSend(pending)
      let withdrawal = ask(message, pending, sending)
      return {
        if withdrawal == nil || withdrawal?() == true { sending.giveUp() } else { sending.giveUpWhenOver() }
        return false
      }
    }
  }

  /// Not inlined, so that after its return only the receiver, or the line of waiting messages, has a reference to the
  /// right to answer.
  @inline(never)
  private func ask(
    _ message: RunLoop.Message, _ pending: PendingReply, _ sending: AwaitedSend
  ) -> SendWithdrawal? {
    var message = message
    message.reply = RunLoop.Port.SendRight(ReplyRight(pending))
    // Keeps the right to answer until `settle` below: the request must throw the send's error, not `.noReply`.
    defer { withExtendedLifetime(message) {} }
    do throws(RunLoopError) {
      return try destination.send(message) { sending.isOver($0) }
    } catch {
      pending.settle(.failure(error))
      return nil
    }
  }
}

/// The send of a task's request. If the task's wait is called off while another thread sends the message, the task
/// resumes only when that send is over. By then either the task or the receiver owns the message's descriptors for
/// good.
private final class AwaitedSend: Sendable {
  private enum Fate {
    static let waits: UInt8 = 0
    static let isOver: UInt8 = 1
    static let isGivenUp: UInt8 = 2
  }

  private let fate = Atomic<UInt8>(Fate.waits)
  private let pending: PendingReply

  init(_ pending: PendingReply) { self.pending = pending }

  /// Called when the message was sent, or the send has failed.
  func isOver(_ result: Result<Void, any Error>) {
    let before = fate.exchange(Fate.isOver, ordering: .acquiringAndReleasing)
    switch result {
    case .failure(let error): pending.settle(.failure(error))
    case .success: if before == Fate.isGivenUp { giveUp() }
    }
  }

  /// Settles the reply, so that a later answer throws. The task gets the reason for which its wait was called off, and
  /// not this error (`Resumption.end`).
  func giveUp() { pending.settle(.failure(RunLoopError.timedOut)) }

  /// Settles the reply at once if the send is over. Otherwise `isOver` settles it when the send ends.
  func giveUpWhenOver() {
    let (isFirst, _) = fate.compareExchange(
      expected: Fate.waits, desired: Fate.isGivenUp, ordering: .acquiringAndReleasing)
    if !isFirst { giveUp() }
  }
}
