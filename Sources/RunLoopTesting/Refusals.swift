import RunLoopKit

extension Turns {
  /// Ends the process if the calling thread's loop does not belong to these turns, or if the thread takes part in
  /// another virtual time. Such a thread would sleep on another clock while it holds the turn here.
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
