internal import Synchronization

extension RunLoop {
  /// Rules 23-25: the signalled members are collected and performed in order; true if any was (A3). With `onlyOne` the rest
  /// stays signalled.
  @inline(__always)
  func performSources(in mode: ModePointer, onlyOne: Bool) -> Bool {
    guard mode.pointee.sourceCount.load(ordering: .acquiring) > 0 else { return false }
    lock.lock()
    switch signalledSources(in: mode) {
    case .none:
      lock.unlock()
      return false
    case .one(let index):
      return performSource(at: index, of: mode)
    case .several:
      lock.unlock()
      return performSourcesInOrder(in: mode, onlyOne: onlyOne)
    }
  }

  private enum SignalledSources {
    case none
    case one(Int)
    case several
  }

  @inline(__always)
  private func signalledSources(in mode: ModePointer) -> SignalledSources {
    var found = SignalledSources.none
    for index in 0..<mode.pointee.sources.count {
      // Under the lock: it stays in the mode's array.
      let source = Unmanaged.passUnretained(mode.pointee.sources[index].source)
      guard source._withUnsafeGuaranteedRef({ $0.isSignalled }) else { continue }
      if case .one = found { return .several }
      found = .one(index)
    }
    return found
  }

  /// Collected and taken in one: nothing comes between. Gives the lock up.
  @inline(never)
  private func performSource(at index: Int, of mode: ModePointer) -> Bool {
    let source = mode.pointee.sources[index].source
    let isTaken = source.takeSignal()
    if isTaken { beginCallout(source) }
    lock.unlock()
    guard isTaken else { return false }
    let began = countAndTime(.sourcesPerformed)
    __RUNLOOPKIT_IS_CALLING_OUT_TO_A_SOURCE__(source, source.body)
    endCallout()
    if began != 0 { calloutHasTaken(since: began, source) }
    return true
  }

  @inline(never)
  private func performSourcesInOrder(in mode: ModePointer, onlyOne: Bool) -> Bool {
    let base = owner.collectedSources.count
    let end = collectSources(in: mode, base: base)
    guard end > base else { return false }
    defer { removeCollectedSources(from: base) }
    var hasPerformed = false
    for index in base..<end {
      let collected = owner.collectedSources[index]
      guard takeSignal(of: collected, in: mode) else { continue }
      let began = countAndTime(.sourcesPerformed)
      __RUNLOOPKIT_IS_CALLING_OUT_TO_A_SOURCE__(collected.source, collected.source.body)
      endCallout()
      if began != 0 { calloutHasTaken(since: began, collected.source) }
      hasPerformed = true
      if onlyOne { break }
    }
    return hasPerformed
  }

  /// One by one: the last reference to a source may go, and its context's release may run this loop.
  private func removeCollectedSources(from base: Int) {
    while owner.collectedSources.count > base {
      let last = owner.collectedSources.removeLast()
      withExtendedLifetime(last) {}
    }
  }

  private func collectSources(in mode: ModePointer, base: Int) -> Int {
    lock.withLock {
      for entry in mode.pointee.sources {
        let stamp = entry.source.signalStamp
        guard stamp != 0 else { continue }
        owner.collectedSources.append(
          OwnerState.CollectedSource(source: entry.source, signalStamp: stamp, memberStamp: entry.stamp))
      }
    }
    let end = owner.collectedSources.count
    if end - base > 1 {
      owner.collectedSources.withUnsafeMutableBufferPointer { all in
        var collected = UnsafeMutableBufferPointer(rebasing: all[base...])
        collected.sort { ($0.source.order, $0.signalStamp) < ($1.source.order, $1.signalStamp) }
      }
    }
    return end
  }

  /// Cleared directly before the callout (rule 22), unless the source has left the mode meanwhile.
  private func takeSignal(of collected: OwnerState.CollectedSource, in mode: ModePointer) -> Bool {
    lock.withLock {
      guard collected.source.token(in: mode) == collected.memberStamp, collected.source.takeSignal() else {
        return false
      }
      beginCallout(collected.source)
      return true
    }
  }
}
