/// A call for which a thread or a task waits, on the stack of the loop's thread. [loop]
class CallOnStack {
  /// Where the run lies that makes it; 0: none.
  final var run: UInt = 0
  /// The one in which it is made.
  final var outer: Unmanaged<CallOnStack>?

  /// The run was left, and the call will not end.
  func isLeft() {}
}
