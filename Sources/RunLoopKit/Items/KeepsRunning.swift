extension RunLoop.Item {
  /// Whether the item keeps its modes from being finished. True at first; an observer never does.
  ///
  /// An item that does not is served like any other as long as something else, or a limit, keeps the run going:
  /// statistics that are written now and then, a signal that may come. A mode with nothing else is empty [RLK-KEEP-1].
  /// Takes effect at once in all modes of all loops that hold it [RLK-KEEP-2]; a run that sleeps looks whether anything
  /// is left after its next pass (`wakeUp()`) [RLK-KEEP-3].
  /// - Thread: Any. In a child of fork(2) that inherited the item nothing is changed.
  /// - Blocks: No.
  /// - Complexity: O(modes).
  /// - SeeAlso: `uv_unref` of libuv.
  public final var keepsRunning: Bool {
    get { kind != .observer && !isBackground }
    set {
      guard !isForked, kind != .observer, setBackground(!newValue) else { return }
      for host in withLinks({ $0.hosts }) { host.settleBackground(self) }
    }
  }
}

extension RunLoop {
  /// What it is by now, in all modes of this loop that hold it: also if two threads change it.
  fileprivate func settleBackground(_ item: Item) {
    guard isUsable else { return }
    lock.withLock {
      let modes = item.withLinks { links in links.compactMap { $0.host === self ? $0.mode : nil } }
      for mode in modes {
        if item.isBackground { mode.counts.insertInBackground(item) } else { mode.counts.removeFromBackground(item) }
      }
    }
  }
}
