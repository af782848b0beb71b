// A timer in every mode of a loop that it is in. Under the loop's and the leaf lock.

extension RunLoop.Timer {
  /// False if it is in none.
  @discardableResult
  @inline(__always)
  func arm(_ links: ItemLinks, on loop: RunLoop) -> Bool {
    if let (mode, token) = links.only(of: loop) {
      arm(in: mode, token: token, on: loop)
      return true
    }
    var isHere = false
    links.forEach { link in
      guard link.host === loop, let mode = link.mode else { return }
      arm(in: mode, token: link.token, on: loop)
      isHere = true
    }
    return isHere
  }

  func arm(in mode: ModePointer, token: UInt64, on loop: RunLoop) {
    mode.timers.set(self, token: token)
    mode.armTimers(on: loop)
  }

  /// Another tolerance, and the same place among equal dates. A collected timer is told when it goes back into the heap.
  func spread(_ links: ItemLinks, on loop: RunLoop) {
    links.forEach { link in
      guard link.host === loop, let mode = link.mode else { return }
      mode.timers.spread(self, token: link.token)
      mode.armTimers(on: loop)
    }
  }

  @inline(__always)
  func clear(_ links: ItemLinks, on loop: RunLoop) {
    if let (mode, token) = links.only(of: loop) { return mode.timers.clear(self, token: token) }
    links.forEach { if $0.host === loop { $0.mode?.timers.clear(self, token: $0.token) } }
  }
}
