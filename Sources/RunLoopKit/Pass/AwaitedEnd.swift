/// What a run ends for, beside a stop, its limit and an empty mode: the answer to a request, the end of a task, a
/// condition. Owner only.
class AwaitedEnd {
  /// It comes without an event of the mode: every wake asks for a look at it.
  final let isCondition: Bool

  init(isCondition: Bool = false) { self.isCondition = isCondition }

  /// It has come. Calls nobody.
  var isOver: Bool { false }

  /// As `isOver`, once a pass.
  func check() -> Bool { isOver }

  /// A stop has reached the run: whether that ends it.
  func isStopped() -> Bool { true }

  /// The run was left, and with it who has begun it.
  func isLeft() {}
}
