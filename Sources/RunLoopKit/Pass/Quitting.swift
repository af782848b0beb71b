internal import Synchronization

/// The end of a resident thread: a stop that reaches all runs on the thread's stack.
///
/// From the stop on, the passes on the stack take no further blocks, signals, due timers, events or jobs. They call
/// what they have taken before, and end.
extension RunLoop {
  /// Stops the innermost run now, each enclosing run when it goes on, and each run that begins before `resume`.
  func quit() {
    stops.quit()
    requestStop()
    lock.withLock { for companion in state.companions.all { companion.loopQuits() } }
  }

  /// Ends the effect of `quit`. - Thread: The loop's own.
  func resume() { stops.resume() }

  /// Keeps an event that a pass has found after the stop, for the passes of `serveWhatIsDue`.
  /// - Returns: `.failed`, which the pass serves, or nil for any other event.
  @inline(never)
  func holdBack(_ event: PassEvent, of mode: ModePointer) -> PassEvent? {
    if case .failed = event { return event }
    holdHostedEvent(event, of: mode)
    return nil
  }

  /// Polls the default mode until everything that is ready now has had its turn. A pass serves all blocks and signalled
  /// sources, a bounded number of jobs, and one port or all due timers. So this function makes as many passes as the
  /// ports and the jobs need, and one more for the timers. It makes no further pass for work that those passes cause.
  /// - Thread: The loop's own.
  func serveWhatIsDue(while mayGoOn: () -> Bool) {
    var passes =
      lock.withLock {
        state.defaultMode.turns + state.companions.passCount(for: state.defaultMode)
      } + 1
    while passes > 0, mayGoOn() {
      passes -= 1
      do {
        _ = try run(in: .default, limit: .poll, false)
      } catch {
        guard isInThisProcess else { return }  // the child of a callout that has forked
        return Diagnosis.warn("a thread ends before all that is due has run: \(error)")
      }
    }
  }

  /// Makes the descriptors of the default mode, so that its runs cannot fail for lack of them.
  func prepareDefaultMode() throws(RunLoopError) {
    lock.lock()
    defer { lock.unlock() }
    try state.defaultMode.makePortSet(on: self)
  }
}
