import RunLoopKit

extension Turns {
  /// A thread that takes part in these turns has no loop but theirs, and takes part in no others: else it would sleep
  /// with the turn in its hand.
  func refuseOthers() {
    if let loop = RunLoop.existing, loop.turns !== self {
      let owner = loop.turns == nil ? "the system's clock and waits" : "the clock and the waits of another virtual time"
      fatalError(
        "VirtualTime: this thread has made a run loop already, which keeps \(owner). "
          + "Use `VirtualTime.run`, which has a thread of its own; or `install` or `enter` first of all, before RunLoop.current"
      )
    }
    if let other = Kernel.current?.turns, other !== self {
      fatalError(
        "VirtualTime: this thread takes part in another virtual time already. "
          + "Use `VirtualTime.run`, which has a thread of its own; or `leave` that one first")
    }
  }
}
