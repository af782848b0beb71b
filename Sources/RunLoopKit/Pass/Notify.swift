internal import Synchronization

extension ModePointer {
  /// Rules 42-45: those interested at this moment are called in order, each if it is still a member, valid and not
  /// firing; added ones wait for the next notification.
  @inline(__always)
  func notify(_ activity: RunLoop.Activity, insideOf at: UInt, on loop: RunLoop) {
    guard observers.want(activity) else { return }
    notifyObservers(activity, on: loop)
    loop.endRuns(insideOf: at)
  }

  @inline(never)
  private func notifyObservers(_ activity: RunLoop.Activity, on loop: RunLoop) {
    loop.lock.lock()
    // One reference to the array, no copy: an observer that changes it during the callouts makes the copy.
    let collected = observers.row
    // It may hold the last references: released after the lock.
    withExtendedLifetime(collected) {
      collected.withUnsafeBufferPointer { call($0, version: observers.version, activity, on: loop) }
      loop.lock.unlock()
    }
  }

  /// Under the lock, which is given up around each callout. The array keeps its observers alive: none is retained.
  private func call(
    _ collected: UnsafeBufferPointer<ModeObservers.Entry>, version: UInt64, _ activity: RunLoop.Activity,
    on loop: RunLoop
  ) {
    for index in collected.indices {
      // The caller holds the array.
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

  /// The release of its context belongs to the callout; without one nothing is left of it.
  private func end(on loop: RunLoop) {
    if context == nil { loop.callouts.end(on: loop) }
    invalidate()
  }
}
