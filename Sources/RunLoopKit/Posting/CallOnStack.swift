/// A call for which a thread or a task waits, on the stack of the loop's thread. [loop]
class CallOnStack {
  /// Where the run lies that makes it; 0: none.
  final var run: UInt = 0
  /// The one in which it is made.
  final var outer: Unmanaged<CallOnStack>?

  /// The run was left, and the call will not end.
  func isLeft() {}
}

extension RunLoop {
  /// Calls what a thread or a task waits for: if its thread ends inside of it, the process ends with a message, since
  /// the wait would never end. [loop]
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
