extension RunLoop {
  /// Makes a mode common for good: it receives all items of the common modes, now and later.
  ///
  /// The loop creates the mode when the mode gets an item. If the system refuses an item for lack of a descriptor, the
  /// loop reports that (`diagnostics`), and the next `add(_:to: .common)` of the item tries again [RLK-FAULT-2].
  /// `.common` is ignored.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// loop.addCommonMode("panel")
  /// try loop.add(RunLoop.Timer(after: .milliseconds(10)) { _ in loop.stop() }, to: .common)
  /// print(try loop.run(in: "panel"))  // prints stopped
  /// ```
  /// - Thread: Any. - Blocks: No. - Complexity: O(items of the common modes). - SeeAlso: `CFRunLoopAddCommonMode`.
  public func addCommonMode(_ mode: Mode) {
    guard isUsable, mode != .common else { return }
    var (scheduled, refused): ([Item], [(Item, RunLoopError)]) = ([], [])
    lock.withLock { makeCommonLocked(mode, &scheduled, &refused) }
    for item in scheduled {
      item.recheckReadiness(outside: self)
      item.hooks?.entered(mode, of: self)
      if item.isInvalidated { detachLate(item) }  // an invalidation meanwhile may have missed this membership
    }
    // The reports come last, since the handler of `diagnostics` may leave by an exception.
    for (item, error) in refused {
      Diagnosis.warn("addCommonMode(\"\(mode)\") could not add \(item): \(error)")
    }
  }

  private func makeCommonLocked(
    _ name: Mode, _ scheduled: inout [Item], _ refused: inout [(Item, RunLoopError)]
  ) {
    guard !state.isCommon(name) else { return }
    state.commonNames.insert(name)
    let items = state.commonItems.all
    guard let mode = items.isEmpty ? state.mode(name) : state.makeMode(name) else { return }
    mode.isCommon = true
    try? mode.insertMainQueueHint(on: self)  // after a failure, a run of the mode tries again, and may throw
    for item in items where item.isValid && item.isFree(for: self) {
      // If the system refuses an item for lack of a descriptor, the item stays recorded: a later add(_:to: .common)
      // tries again, and throws if it fails too.
      do throws(RunLoopError) {
        guard try mode.insert(item, on: self) else { continue }
        item.recheckReadiness(in: self)
        scheduled.append(item)
      } catch {
        refused.append((item, error))
      }
    }
  }

  /// Whether the mode receives the items of the common modes.
  /// - Thread: Any; the result may be outdated when the caller reads it. - Complexity: O(modes).
  public func isCommonMode(_ mode: Mode) -> Bool {
    guard isUsable else { return false }
    return lock.withLock { state.isCommon(mode) }
  }
}
