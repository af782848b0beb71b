internal import Synchronization

extension RunLoop {
  /// Rules 42-45: those interested at this moment are called in order, each if it is still a member, valid and not firing;
  /// added ones wait for the next notification.
  func notify(_ mode: ModePointer, _ activity: Activity) {
    guard mode.pointee.observedActivities.load(ordering: .acquiring) & activity.rawValue != 0 else { return }
    lock.lock()
    // One reference to the array, no copy: an observer that changes it during the callouts makes the copy.
    let collected = mode.pointee.observers
    // It may hold the last references: released after the lock.
    withExtendedLifetime(collected) {
      call(collected, version: mode.pointee.observersVersion, mode, activity)
      lock.unlock()
    }
  }

  /// Under the lock, which is given up around each callout.
  private func call(
    _ collected: ContiguousArray<ModeState.ObserverEntry>, version: UInt64, _ mode: ModePointer, _ activity: Activity
  ) {
    for entry in collected where entry.observer.activities.rawValue & activity.rawValue != 0 {
      let observer = entry.observer
      guard observer.isValid, !observer.isFiring else { continue }
      if mode.pointee.observersVersion != version, !isMember(entry, of: mode) { continue }
      lock.unlock()
      call(observer, activity)
      lock.lock()
    }
  }

  private func isMember(_ entry: ModeState.ObserverEntry, of mode: ModePointer) -> Bool {
    mode.pointee.observers.contains { $0.observer === entry.observer && $0.stamp == entry.stamp }
  }

  private func call(_ observer: Observer, _ activity: Activity) {
    observer.firing.store(true, ordering: .relaxed)
    __RUNLOOPKIT_IS_CALLING_OUT_TO_AN_OBSERVER__(observer, activity)
    if !observer.repeats { observer.invalidate() }
    observer.firing.store(false, ordering: .relaxed)
  }
}
