internal import Synchronization

/// The end of a resident thread: a stop that reaches all runs on its stack.
extension RunLoop {
  /// Stops the innermost run, each enclosing one when it goes on, and each that begins before `resume`.
  func quit() {
    stops.quit()
    stop()
  }

  /// Runs may begin again. [loop]
  func resume() { stops.resume() }

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
