internal import Synchronization

// What its items, modes and ports ask of a loop.

extension RunLoop: ItemHost {
  /// With each membership that ends, in the same section of the leaf lock and under the lock of the loop.
  @inline(__always)
  func noteLeaving(_ item: Item) {
    if callouts.isOnStack(ObjectIdentifier(item), of: self) { LeftInCallout.insert(ObjectIdentifier(item), of: self) }
  }

  func interestChanged(_ source: DescriptorItem) throws(RunLoopError) {
    guard isUsable else { return }
    let isServed = isCurrent && innermostRun.servedSource === source
    lock.lock()
    defer { lock.unlock() }
    try source.tellInterest(on: self, isServed: isServed)
  }

  /// By any thread.
  func reschedule(_ timer: Timer, _ change: Timer.Change) -> Bool {
    let now = kernel.now(timer.clock)
    let isHere = lock.withLock { timer.reschedule(change, now: now, on: self) }
    if isHere, case .date(_, isToldOf: true) = change, !isCurrent {  // rule 18
      wakes.dateHasMoved()
    }
    return isHere
  }
}

extension RunLoop: ModeHost {
  @inline(__always)
  func kick() { wakes.word.kick() }

  func makeWakeup() throws(RunLoopError) -> Int32 {
    let descriptor = try wakes.word.make()
    wakes.word.reportLosses(to: self)
    return descriptor
  }

  func runs(in mode: ModePointer) -> Bool { state.currentMode == mode }

  @inline(__always)
  var defaultTolerance: UInt64 { state.extras?.defaultTolerance ?? 0 }

  @inline(__always)
  func nextStamp() -> UInt64 { state.nextStamp() }

  @inline(__always)
  func mayHaveIdled(_ mode: ModePointer) {
    if mode.useCount == 0, !state.idleModes.isLatest(mode) { noteIdle(mode) }
  }

  @inline(never)
  private func noteIdle(_ mode: ModePointer) { state.idleModes.note(mode, among: state.modes) }

  func mainQueueCame() { owner.mainQueue.edgeCame() }

  func mainQueueIsLost() { owner.mainQueue.isLost = true }

  /// A message has come into an empty mailbox. Any thread, with no lock held.
  func messageCame(_ membership: PortMembership) {
    guard isInThisProcess else { return }
    lock.lock()
    let mode = membership.mode
    let isAwaited = membership.isMember && mode.messages.mark(membership) && runs(in: mode)
    lock.unlock()
    if isAwaited { kick() }
  }
}
