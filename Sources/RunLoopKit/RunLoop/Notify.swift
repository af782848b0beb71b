internal import Synchronization

extension RunLoop {
  /// Rules 42-45: those interested at this moment are called in order, each if it is still a member, valid and not firing;
  /// added ones wait for the next notification.
  @inline(__always)
  func notify(_ mode: ModePointer, _ activity: Activity) {
    if mode.pointee.observedActivities.load(ordering: .acquiring) & activity.rawValue != 0 {
      notifyObservers(of: mode, activity)
    }
  }

  @inline(never)
  private func notifyObservers(of mode: ModePointer, _ activity: Activity) {
    lock.lock()
    // One reference to the array, no copy: an observer that changes it during the callouts makes the copy.
    let collected = mode.pointee.observers
    // It may hold the last references: released after the lock.
    withExtendedLifetime(collected) {
      collected.withUnsafeBufferPointer {
        call($0, version: mode.pointee.observersVersion, mode, activity)
      }
      lock.unlock()
    }
  }

  /// Under the lock, which is given up around each callout. The array keeps its observers alive: none is retained.
  private func call(
    _ collected: UnsafeBufferPointer<ModeState.ObserverEntry>, version: UInt64, _ mode: ModePointer,
    _ activity: Activity
  ) {
    for index in collected.indices {
      // The caller holds the array.
      Unmanaged.passUnretained(collected[index].observer)._withUnsafeGuaranteedRef { observer in
        guard observer.activities.rawValue & activity.rawValue != 0, !observer.isFiring,
          observer.validity.load(ordering: .acquiring),
          mode.pointee.observersVersion == version || isMember(collected[index], of: mode), isInThisProcess
        else { return }
        beginCallout(observer)
        lock.unlock()
        call(observer, activity, mode)
        lock.lock()
      }
    }
  }

  private func isMember(_ entry: ModeState.ObserverEntry, of mode: ModePointer) -> Bool {
    entry.observer.token(in: mode) == entry.stamp
  }

  /// The release of its context belongs to the callout; without one nothing is left of it.
  private func end(_ observer: Observer) {
    if observer.context == nil { endCallout() }
    observer.invalidate()
  }

  private func call(_ observer: Observer, _ activity: Activity, _ mode: ModePointer) {
    let began = beginTiming()
    observer.firing.store(true, ordering: .relaxed)
    __RUNLOOPKIT_IS_CALLING_OUT_TO_AN_OBSERVER__(observer, activity)
    if !observer.repeats { end(observer) }
    observer.firing.store(false, ordering: .relaxed)
    endCallout()
    if began != 0 { calloutHasTaken(since: began, observer, .observer, in: mode) }
  }
}
