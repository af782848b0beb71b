internal import Synchronization

extension RunLoop.Port.SendRight {
  /// Sends a message, and suspends the task until the answer has arrived [RLK-ASYNC-16].
  ///
  /// The twin of the call that runs its thread's loop; this one needs no loop, and takes no mode: a thread of
  /// RunLoopPorts receives what another process answers, if no loop of the program does [RLK-ASYNC-20]. The message's
  /// `reply` becomes a right to answer this request once. While the port is full, the message waits as that of
  /// `send(_:timeout:)`. If the task does not wait any more, the right to answer is withdrawn: an answer that is sent
  /// later throws `.portInvalid` at its sender, and one that a port's body returns is counted in that port's
  /// `undeliveredReplies` [RLK-ASYNC-17].
  /// - Parameters:
  ///   - message: The question; the call replaces its `reply`.
  ///   - timeout: How long sending and answering may take together; zero or less: the answer must come
  ///     at once. Nil: no limit.
  /// - Returns: The answer.
  /// - Throws: `CancellationError` if the task was cancelled, and `.timedOut` if the limit was over, before the answer
  ///   came: the message was withdrawn if it was not sent yet, and otherwise its descriptors are the receiver's.
  ///   `.noReply` if the right to answer is released unused, for example because the port is gone with the message in
  ///   its queue, or the last loop that served it has ended [RLK-ASYNC-18]; `.portInvalid`; else as `send(_:timeout:)`.
  /// - Thread: Any. - Re-entry: Allowed. - Blocks: No. - Complexity: As `send(_:timeout:)`.
  nonisolated(nonsending) public func request(
    _ message: RunLoop.Message, timeout: Duration? = nil
  ) async throws -> RunLoop.Message {
    try Task.checkCancellation()
    let bell = Mailbox(limit: 1)  // in no mode: nobody listens to it
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

  /// A function of its own: when it returns, only the receiver, or the line of those that wait, has the right to
  /// answer.
  @inline(never)
  private func ask(
    _ message: RunLoop.Message, _ pending: PendingReply, _ sending: AwaitedSend
  ) -> SendWithdrawal? {
    var message = message
    message.reply = RunLoop.Port.SendRight(ReplyRight(pending))
    // Why it was not sent counts, not that the right to answer goes with it.
    defer { withExtendedLifetime(message) {} }
    do throws(RunLoopError) {
      return try destination.send(message) { sending.isOver($0) }
    } catch {
      pending.settle(.failure(error))
      return nil
    }
  }
}

/// The message of a request on its way. A task that gives up while somebody sends the message goes on when that is
/// over: not before the message's descriptors are its own again, or the receiver's for good.
private final class AwaitedSend: Sendable {
  private enum Fate {
    static let waits: UInt8 = 0
    static let isOver: UInt8 = 1
    static let isGivenUp: UInt8 = 2
  }

  private let fate = Atomic<UInt8>(Fate.waits)
  private let pending: PendingReply

  init(_ pending: PendingReply) { self.pending = pending }

  /// Sent, or failed.
  func isOver(_ result: Result<Void, any Error>) {
    let before = fate.exchange(Fate.isOver, ordering: .acquiringAndReleasing)
    switch result {
    case .failure(let error): pending.settle(.failure(error))
    case .success: if before == Fate.isGivenUp { giveUp() }
    }
  }

  /// An answer is too late from now on. The pending reply tells the task why.
  func giveUp() { pending.settle(.failure(RunLoopError.timedOut)) }

  /// Now, if it is over; else whoever sends it tells the task.
  func giveUpWhenOver() {
    let (isFirst, _) = fate.compareExchange(
      expected: Fate.waits, desired: Fate.isGivenUp, ordering: .acquiringAndReleasing)
    if !isFirst { giveUp() }
  }
}
