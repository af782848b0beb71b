extension RunLoop {
  /// Returns when every block that was queued before for the same modes has had its turn: whoever has queued one, and what it
  /// has done can be seen here.
  ///
  /// A block of its own, which waits as `performAndWait` does. A block before it that runs the loop may have come to this one
  /// in that nested run: then it is still on the stack. What blocks have asked for by timers, sources or messages is not
  /// waited for.
  /// - Parameters:
  ///   - modes: Not empty (`.noMode`). Blocks for other modes are not waited for.
  ///   - timeout: Until when the blocks before must have run; zero or less: they must have run already. Nil: for ever.
  /// - Throws: `.wouldDeadlock` on the loop's own thread; `.timedOut`; `.loopEnded`, also if the loop ends before: what was
  ///   queued has been released then. `.noMode`, `.forked`.
  /// - Thread: Any but the loop's own. - Blocks: Until then. - Complexity: As for `performAndWait`.
  /// - SeeAlso: `dispatch_barrier_sync`.
  @available(*, noasync, message: "it blocks its thread")
  public func barrier(in modes: [Mode] = [.default], timeout: Duration? = nil) throws(RunLoopError) {
    if isCurrent { throw .wouldDeadlock(call: "barrier(in:timeout:)") }
    try performAndWait(in: modes, timeout: timeout) {}
  }
}
