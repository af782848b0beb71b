internal import Synchronization

/// The end of a resident thread: a stop that reaches all runs on its stack.
///
/// From the stop on the passes on the stack take up nothing more: no blocks, no signals, no due timers, no event, no
/// jobs. They call what they had taken up before, and go on to their end.
extension RunLoop {
  /// Stops the innermost run, each enclosing one when it goes on, and each that begins before `resume`.
  func quit() {
    stops.quit()
    stop()
    lock.withLock { for companion in state.companions.all { companion.loopQuits() } }
  }

  /// Runs may begin again. [loop]
  func resume() { stops.resume() }

  /// The event that a pass has found after the stop. It is not lost: the thread may serve what is due before it ends.
  /// - Returns: What the pass serves: why the wait has failed, or nothing.
  @inline(never)
  func holdBack(_ event: PassEvent, of mode: ModePointer) -> PassEvent? {
    if case .failed = event { return event }
    holdHostedEvent(event, of: mode)
    return nil
  }

  /// Polls the default mode until everything that is ready now has had a turn: a pass serves all blocks and sources, a
  /// bounded number of jobs, and one message or port or all due timers, so that as many passes as these need do, and
  /// one more for the timers. Not more: work that makes work does not keep the thread alive. [loop]
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

  /// So that a run of the default mode cannot fail for want of descriptors.
  func prepareDefaultMode() throws(RunLoopError) {
    lock.lock()
    defer { lock.unlock() }
    try state.defaultMode.makePortSet(on: self)
  }
}
