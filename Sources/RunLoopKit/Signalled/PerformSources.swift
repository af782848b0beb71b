internal import Synchronization

extension ModePointer {
  /// Collects the signalled sources of the mode, and performs them in order (rules 23-25). Returns true if it has
  /// performed one (A3). With `onlyOne` it performs one, and the rest stays signalled.
  @inline(__always)
  func performSources(onlyOne: Bool, on loop: RunLoop) -> Bool {
    guard !sources.isEmpty else { return false }
    loop.lock.lock()
    switch sources.signalled {
    case .none:
      loop.lock.unlock()
      return false
    case .one(let index):
      return performSource(at: index, on: loop)
    case .several:
      loop.lock.unlock()
      return performSourcesInOrder(onlyOne: onlyOne, on: loop)
    }
  }

  /// Performs the only signalled source. Called under the lock. Takes the signal, and releases the lock before the
  /// callout.
  @inline(never)
  private func performSource(at index: Int, on loop: RunLoop) -> Bool {
    let source = sources.row[index].source
    let isTaken = !loop.stops.isQuitting && source.takeSignal()
    if isTaken { loop.callouts.begin(source) }
    loop.lock.unlock()
    guard isTaken else { return false }
    let at = loop.innermostRun.state.at
    let timing = CalloutTiming(counting: .sourcesPerformed, on: loop)
    __RUNLOOPKIT_IS_CALLING_OUT_TO_A_SOURCE__(source, source.body)
    loop.callouts.end(on: loop)
    loop.endRuns(insideOf: at)
    timing.end(source, on: loop)
    return true
  }

  @inline(never)
  private func performSourcesInOrder(onlyOne: Bool, on loop: RunLoop) -> Bool {
    let at = loop.innermostRun.state.at
    let base = loop.owner.collectedSources.count
    let end = collectSources(base: base, on: loop)
    guard end > base else { return false }
    defer { removeCollectedSources(from: base, on: loop) }
    var hasPerformed = false
    for index in base..<end {
      let collected = loop.owner.collectedSources[index]
      guard takeSignal(of: collected, on: loop) else { continue }
      let timing = CalloutTiming(counting: .sourcesPerformed, on: loop)
      __RUNLOOPKIT_IS_CALLING_OUT_TO_A_SOURCE__(collected.source, collected.source.body)
      loop.callouts.end(on: loop)
      loop.endRuns(insideOf: at)
      timing.end(collected.source, on: loop)
      hasPerformed = true
      if onlyOne { break }
    }
    return hasPerformed
  }

  /// Removes the collected sources one by one, because the last reference to a source may end here, and the release of
  /// its context may run this loop.
  private func removeCollectedSources(from base: Int, on loop: RunLoop) {
    while loop.owner.collectedSources.count > base {
      let last = loop.owner.collectedSources.removeLast()
      withExtendedLifetime(last) {}
    }
  }

  private func collectSources(base: Int, on loop: RunLoop) -> Int {
    loop.lock.withLock {
      for entry in sources.row {
        let stamp = entry.source.signalStamp
        // Reads `isQuitting` after the stamp, so that a signal that another thread gives after the stop is not
        // collected.
        guard stamp != 0, !loop.stops.isQuitting else { continue }
        loop.owner.collectedSources.append(
          OwnerState.CollectedSource(source: entry.source, signalStamp: stamp, memberStamp: entry.stamp))
      }
    }
    let end = loop.owner.collectedSources.count
    if end - base > 1 {
      loop.owner.collectedSources.withUnsafeMutableBufferPointer { all in
        var collected = UnsafeMutableBufferPointer(rebasing: all[base...])
        collected.sort { ($0.source.order, $0.signalStamp) < ($1.source.order, $1.signalStamp) }
      }
    }
    return end
  }

  /// Clears the signal directly before the callout (rule 22). Returns false if the source has left the mode, or its
  /// signal was cleared, meanwhile.
  private func takeSignal(of collected: OwnerState.CollectedSource, on loop: RunLoop) -> Bool {
    loop.lock.withLock {
      guard collected.source.token(in: self) == collected.memberStamp, collected.source.takeSignal() else {
        return false
      }
      loop.callouts.begin(collected.source)
      return true
    }
  }
}
