import RunLoopKit

import class RunLoopKit.RunLoop

/// Rule 7 for a run that polls.
extension ReferenceLoop {
  /// True if a source was handled.
  func pass(_ mode: Mode, _ returnAfterSourceHandled: Bool) -> Bool {
    notify(mode, .beforeTimers)
    notify(mode, .beforeSources)
    performBlocks(mode)
    var hasHandled = performSources(mode, onlyOne: returnAfterSourceHandled)
    if hasHandled { performBlocks(mode) }
    if let port = takePort(in: mode) {
      callOut(port.name)
      hasHandled = true
    } else {
      fireTimers(mode)
    }
    performBlocks(mode)
    return hasHandled
  }

  /// Rules 42-45.
  func notify(_ mode: Mode, _ activity: RunLoop.Activity) {
    let observers = mode.members.filter(\.item.isObserver).sorted {
      ($0.item.order, $0.stamp) < ($1.item.order, $1.stamp)
    }
    for member in observers {
      let observer = member.item
      guard case .observer(let activities, _, let repeats) = observer.kind, activities.contains(activity),
        !observer.isFiring, mode.contains(member)
      else { continue }
      observer.isFiring = true
      callOut("\(observer.name) \(activity)")
      if !repeats { invalidate(observer) }
      observer.isFiring = false
    }
  }

  /// Rules 47, 48.
  private func performBlocks(_ mode: Mode) {
    let detached = blocks
    blocks = []
    var kept: [Block] = []
    for block in detached {
      if matches(block, mode) { callOut(block.name) } else { kept.append(block) }
    }
    blocks = kept + blocks
  }

  /// Rules 22-25.
  private func performSources(_ mode: Mode, onlyOne: Bool) -> Bool {
    let signalled = mode.members.filter { $0.item.isSource && $0.item.signalled > 0 }
    var hasPerformed = false
    for member in signalled.sorted(by: { ($0.item.order, $0.item.signalled) < ($1.item.order, $1.item.signalled) }) {
      guard mode.contains(member), member.item.signalled > 0 else { continue }
      member.item.signalled = 0
      callOut(member.item.name)
      hasPerformed = true
      if onlyOne { break }
    }
    return hasPerformed
  }

  /// Rules 32-37.
  private func fireTimers(_ mode: Mode) {
    let due = mode.members.filter { $0.item.date != nil && !$0.item.isFiring }
    for member in due.sorted(by: { $0.item.date! < $1.item.date! }) {
      let timer = member.item
      guard mode.contains(member), !timer.isFiring, let fired = timer.date else { continue }
      timer.isFiring = true
      callOut(timer.name)
      if case .timer(repeats: false) = timer.kind { invalidate(timer) }
      timer.isFiring = false
      if timer.date == fired { timer.date = nil }
    }
  }
}
