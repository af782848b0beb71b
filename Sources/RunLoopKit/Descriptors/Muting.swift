extension ModePointer {
  /// Out of the wait, or back.
  @inline(__always)
  func setMuted(_ isMuted: Bool, _ item: RunLoop.Item, _ token: UInt64, on loop: RunLoop) {
    guard let set = ports.set else { return }
    if !set.setMuted(isMuted, token: token) { noteUnwatched(item, on: loop) }
    if set.hasUnwatched { loop.kick() }
  }
}

extension RunLoop.Item {
  /// The same in all its modes of the loop.
  final func setMuted(_ isMuted: Bool, on loop: RunLoop) {
    withLinks { links in
      for link in links where link.host === loop { link.mode?.setMuted(isMuted, self, link.token, on: loop) }
    }
  }
}

// MARK: Readiness sources in nested runs

extension RunLoop {
  /// Its callout begins: nested runs leave the source out. False if it is on the stack already. [loop]
  @inline(__always)
  func beginServing(_ source: FileDescriptorSource, in mode: ModePointer) -> Bool {
    let run = innermostRun  // a pass serves it
    if run.parent != nil, run.encloses(source) {
      muteAgain(run, in: mode)
      return false
    }
    run.beginServing(source)
    return true
  }

  /// It was removed and added again in its own callout.
  @inline(never)
  private func muteAgain(_ activation: Activation, in mode: ModePointer) {
    activation.state.served = nil
    lock.withLock { activation.muteServed(in: mode, on: self) }
  }

  /// What `beginServing` has begun is over. [loop]
  @inline(__always)
  func endServing(_ source: FileDescriptorSource) {
    if !innermostRun.endsServing(source) { endServingAfterRuns(source) }
  }

  /// It began runs. Those that are still there were left: it is left out of their sets, so that they do not serve it.
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
  /// A run inside of this one begins: the readiness sources whose callouts are on the stack are taken out of its set.
  /// Removed, not masked: a hang-up would be reported all the same. Under the lock.
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

  /// A run around this one serves the source.
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
