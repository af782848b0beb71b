extension ModePointer {
  /// Takes the item's registration out of the mode's port set, so that the loop does not serve the item, or puts it
  /// back. Under the lock.
  func setMuted(_ isMuted: Bool, _ item: RunLoop.Item, _ token: UInt64, on loop: RunLoop) {
    guard let set = ports.set else { return }
    if !set.setMuted(isMuted, token: token) { noteUnwatched(item, on: loop) }
    if set.hasUnwatched { loop.interrupt() }
  }
}

extension RunLoop.Item {
  /// Mutes or unmutes the item in each of its modes of the loop.
  final func setMuted(_ isMuted: Bool, on loop: RunLoop) {
    withLinks { links in
      for link in links where link.loop === loop { link.mode?.setMuted(isMuted, self, link.token, on: loop) }
    }
  }
}

// MARK: Descriptor sources in nested runs

extension RunLoop {
  /// Called before the source's callout. Nested runs do not serve the source until `endServing`. Returns false if a
  /// callout of the source is on the stack already. - Thread: The loop's own.
  func beginServing(_ source: FileDescriptorSource, in mode: ModePointer) -> Bool {
    let run = innermostRun  // its pass serves the source
    if run.parent != nil, run.encloses(source) {
      muteAgain(run, in: mode)
      return false
    }
    run.beginServing(source)
    return true
  }

  /// Mutes a source that was removed and added again in its own callout: its new registration is not muted yet.
  @inline(never)
  private func muteAgain(_ activation: Activation, in mode: ModePointer) {
    activation.state.served = nil
    lock.withLock { activation.muteServed(in: mode, on: self) }
  }

  /// Called after the callout that followed `beginServing`. - Thread: The loop's own.
  @inline(__always)
  func endServing(_ source: FileDescriptorSource) {
    if !innermostRun.endsServing(source) { endServingAfterRuns(source) }
  }

  /// Called if the callout has begun runs. An innermost run that does not serve the source is one of these runs, and an
  /// exception or longjmp(3) has left it. It ends here.
  @inline(never)
  private func endServingAfterRuns(_ source: FileDescriptorSource) {
    while innermostRun.isRunning, !innermostRun.serves(source) { endLeftRun(hasCalloutEnded: false) }
    if innermostRun.state.serving == .muted { unmute(source) }
    innermostRun.state.serving = .no
  }

  @inline(never)
  func unmute(_ source: FileDescriptorSource) { lock.withLock { source.setMuted(false, on: self) } }
}

extension Activation {
  /// Called when a nested run begins. Takes the descriptor sources whose callouts are on the stack out of the port set
  /// of the run's mode. They are removed, not masked, since epoll reports hang-ups of a masked descriptor, too. Under
  /// the lock.
  func muteServed(in mode: ModePointer, on loop: RunLoop) {
    var enclosing: Activation? = self
    while let activation = enclosing {
      if let source = activation.servedSource, let token = source.token(in: mode) {
        mode.setMuted(true, source, token, on: loop)
        activation.noteMuted()
      }
      enclosing = activation.parent
    }
  }

  /// Whether an enclosing run serves the source.
  @inline(never)
  fileprivate func encloses(_ source: RunLoop.FileDescriptorSource) -> Bool {
    var enclosing = parent
    while let activation = enclosing {
      if activation.servedSource === source { return true }
      enclosing = activation.parent
    }
    return false
  }
}
