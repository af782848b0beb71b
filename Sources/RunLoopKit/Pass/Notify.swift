internal import Synchronization

extension ModePointer {
  /// Calls the observers of `activity` in their order (rules 42-45), each if it is still a member, valid and not
  /// firing. Observers that are added meanwhile wait for the next notification.
  func notify(_ activity: RunLoop.Activity, insideOf at: UInt, on loop: RunLoop) {
    guard observers.want(activity) else { return }
    notifyObservers(activity, on: loop)
    loop.endRuns(insideOf: at)
  }

  @inline(never)
  private func notifyObservers(_ activity: RunLoop.Activity, on loop: RunLoop) {
    loop.lock.lock()
    // Retains the array. If a callout adds or removes an observer, it changes a copy of the array.
    let collected = observers.row
    // The array may hold the last references to observers, so it is released after the unlock.
    withExtendedLifetime(collected) {
      collected.withUnsafeBufferPointer { call($0, version: observers.version, activity, on: loop) }
      loop.lock.unlock()
    }
  }

  /// Calls those of the collected observers that want the activity. Under the lock, which this function releases around
  /// each callout. The array keeps its observers alive, so this function retains none.
  private func call(
    _ collected: UnsafeBufferPointer<ModeObservers.Entry>, version: UInt64, _ activity: RunLoop.Activity,
    on loop: RunLoop
  ) {
    for index in collected.indices {
      // The caller retains the array.
      Unmanaged.passUnretained(collected[index].observer)._withUnsafeGuaranteedRef { observer in
        guard observer.activities.rawValue & activity.rawValue != 0, !observer.isFiring,
          observer.validity.load(ordering: .acquiring),
          observers.version == version || collected[index].isMember(of: self), loop.isInThisProcess
        else { return }
        loop.callouts.begin(observer)
        loop.lock.unlock()
        observer.call(activity, in: self, on: loop)
        loop.lock.lock()
      }
    }
  }
}

extension RunLoop.Observer {
  fileprivate func call(_ activity: RunLoop.Activity, in mode: ModePointer, on loop: RunLoop) {
    let timing = CalloutTiming(on: loop)
    firing.store(true, ordering: .relaxed)
    __RUNLOOPKIT_IS_CALLING_OUT_TO_AN_OBSERVER__(self, activity)
    if !repeats { end(on: loop) }
    firing.store(false, ordering: .relaxed)
    loop.callouts.end(on: loop)
    timing.end(self, .observer, in: mode, on: loop)
  }

  /// Invalidates an observer that does not repeat. If the observer has no context, its callout ends first. If it has
  /// one, the callout ends later, because releasing the context is part of the callout.
  private func end(on loop: RunLoop) {
    if context == nil { loop.callouts.end(on: loop) }
    invalidate()
  }
}
