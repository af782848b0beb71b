/// What ends a run besides a stop, its limit and an empty mode: a reply, the end of a task, a condition.
/// - Thread: The loop's own.
class AwaitedEnd {
  /// True if the end may come without an event of the mode, so that each wake has to make the run check for it.
  final let isCondition: Bool

  init(isCondition: Bool = false) { self.isCondition = isCondition }

  /// True if the end has come. Calls no user code.
  var isOver: Bool { false }

  /// Called once a pass. True if the end has come. May call user code.
  func check() -> Bool { isOver }

  /// Called when a stop has reached the run. True if the stop ends it.
  func isStopped() -> Bool { true }

  /// Called when an exception or longjmp(3) has left the run, and with it the function that has begun the run.
  func isLeft() {}
}
