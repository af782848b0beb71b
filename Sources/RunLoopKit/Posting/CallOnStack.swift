/// A call on the stack of the loop's thread for which another thread or a task waits. - Thread: The loop's own.
class CallOnStack {
  /// The place on the stack of the run that makes the call; 0 if no run makes it.
  final var run: UInt = 0
  /// The enclosing call, if there is one.
  final var outer: Unmanaged<CallOnStack>?

  /// Called when the run was left by an exception or longjmp(3): the call will not end.
  func isLeft() {}
}

extension RunLoop {
  /// Calls `body`, for which a thread or a task waits. If `body` ends its thread, the process ends with a message,
  /// since the wait would never end. - Thread: The loop's own.
  func callAwaited<R>(_ call: CallOnStack, _ body: () -> R) -> R {
    call.run = innermostRun.state.at
    call.outer = owner.awaitedCall
    owner.awaitedCall = Unmanaged.passUnretained(call)
    defer {
      endRuns(insideOf: call.run)
      owner.awaitedCall = call.outer
    }
    return body()
  }
}
