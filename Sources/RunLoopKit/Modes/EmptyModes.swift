extension RunLoop {
  /// Whether a run of the mode would return `.finished` at once, since nothing in the mode keeps a run going. Observers
  /// do not count.
  ///
  /// Also true for a mode that does not exist, for `.common`, and if the loop has ended. A common mode of the main loop
  /// is never empty while `servesMainQueue` is true.
  /// - Thread: Any; the result may be outdated when the caller reads it. - Complexity: O(items).
  public func isEmpty(in mode: Mode = .default) -> Bool {
    guard isUsable, mode != .common else { return true }
    return lock.withLock {
      guard let made = state.mode(mode) else { return !isKeptByMainQueue(unmade: mode) }
      return isEmpty(made)
    }
  }

  /// True if nothing keeps a run of the mode going (rule 2). Under the lock.
  @inline(__always)
  func isEmpty(_ mode: ModePointer) -> Bool {
    if isKeptByMainQueue(mode) { return false }
    return mode.counts.hasNoItems && !state.hasBlocks(for: mode) && !state.companions.hasWork(for: mode)
  }

  /// Returns what `isEmpty` returns, for step (n) of a pass. Takes the lock only if no member keeps the run going.
  @inline(__always)
  func isFinished(_ mode: ModePointer) -> Bool {
    if mode.counts.hasKeeping { return false }
    return lock.withLock { isEmpty(mode) }
  }
}
