extension RunLoop.Item {
  /// Whether the item keeps its modes from being finished. True at first; always false for an observer.
  ///
  /// If false, the loop serves the item like any other while something else, or a time limit, keeps the run going. Set
  /// it to false for a timer that writes statistics now and then, or for a signal that may come. A mode that has only
  /// such items counts as empty [RLK-KEEP-1]. A change takes effect at once in all modes of all loops that hold the
  /// item [RLK-KEEP-2]. A sleeping run does not notice the change: it checks after its next pass whether anything keeps
  /// it going. Call `wakeUp()` to cause that pass [RLK-KEEP-3].
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let statistics = RunLoop.Timer(after: .seconds(60), interval: .seconds(60)) { _ in print(loop) }
  /// statistics.keepsRunning = false
  /// try loop.add(statistics, to: "work")
  /// print(try loop.run(in: "work"))  // prints finished
  /// ```
  /// - Thread: Any. In a child of fork(2) that inherited the item, a change is ignored.
  /// - Blocks: No.
  /// - Complexity: O(modes).
  /// - SeeAlso: `uv_unref` of libuv.
  public final var keepsRunning: Bool {
    get { kind != .observer && !isBackground }
    set {
      guard !isForked, kind != .observer, setBackground(!newValue) else { return }
      for loop in withLinks({ $0.loops }) { loop.settleBackground(self) }
    }
  }
}

extension RunLoop {
  /// Counts the item by its present `isBackground` in all modes of this loop that hold it. Two threads may change the
  /// property at once, so this function reads it under the lock.
  fileprivate func settleBackground(_ item: Item) {
    guard isUsable else { return }
    lock.withLock {
      let modes = item.withLinks { links in links.compactMap { $0.loop === self ? $0.mode : nil } }
      for mode in modes {
        if item.isBackground { mode.counts.moveToBackground(item) } else { mode.counts.moveToForeground(item) }
      }
    }
  }
}
