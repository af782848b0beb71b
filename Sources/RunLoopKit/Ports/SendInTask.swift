extension RunLoop.Port.SendRight {
  /// Sends a message, and suspends the task while the port is full [RLK-ASYNC-11].
  ///
  /// Unlike the synchronous form, this call blocks no thread. Tasks that wait for room in a port stand in one line.
  /// Their messages arrive in the order in which the tasks began to wait, and no later message of a task passes them
  /// [RLK-ASYNC-12]. So the messages that one task sends arrive in the order of sending. Threads that wait in the
  /// synchronous form, and connections of other processes, take turns with the line. `trySend(_:)` takes any room that
  /// it finds free. If the port is in another process, the tasks stand in the line of the connection to it instead
  /// [RLK-ASYNC-21]. Either the call sends all of the message or, if it throws, nothing: the caller keeps descriptors
  /// and rights [RLK-ASYNC-13].
  /// - Parameters:
  ///   - message: What is sent.
  ///   - timeout: How long the message may wait for room, in real time; with zero or less, the call withdraws it unless
  ///     there is room already. Nil means no limit.
  /// - Throws: `CancellationError` if the task was cancelled before the message was sent: the message was withdrawn
  ///   [RLK-ASYNC-14]. `.portInvalid` if the receiver is gone, also while the message waits [RLK-ASYNC-15,
  ///   RLK-ASYNC-22]. `.timedOut`. Otherwise the errors of the form that blocks, except `.wouldDeadlock`: the thread is
  ///   free to serve the port.
  /// - Thread: Any. - Re-entry: Allowed. - Blocks: No. - Complexity: As the form that blocks. Waiting and withdrawing
  ///   are O(1); between processes withdrawing is O(messages in line).
  nonisolated(nonsending) public func send(_ message: RunLoop.Message, timeout: Duration? = nil) async throws {
    try Task.checkCancellation()
    try await Resumption<Void>.wait(timeout: timeout) { task in
      if let withdrawal = try destination.send(message, whenOver: { task.end($0) }) { return withdrawal }
      task.settle(.success(()))
      return { false }
    }
  }
}
