extension RunLoop {
  /// The executor that runs actors and tasks on the loop's thread, in its common modes. It is the same object each
  /// time.
  ///
  /// - Thread: Any. - Complexity: O(1) after the first.
  public var executor: Executor {
    // The runtime calls this for each job of an actor, so it allocates nothing.
    guard isInThisProcess else { return .ofInheritedLoops }
    let made = lock.withLock { madeExecutor { $0.servesCommonModes } }
    return made ?? executor(inAnyOf: [.common])
  }

  /// Returns the executor that runs actors and tasks on the loop's thread while the loop runs in one of the modes. It
  /// is the same object each time for the same set of modes.
  ///
  /// - Thread: Any. - Complexity: O(executors of the loop).
  public func executor(in mode: Mode, _ more: Mode...) -> Executor { executor(inAnyOf: [mode] + more) }

  private func executor(inAnyOf modes: [Mode]) -> Executor {
    let modes = Set(modes).sorted { $0.rawValue < $1.rawValue }
    guard isInThisProcess else { return .ofInheritedLoops }
    let (executor, isNew) = lock.withLock { () -> (Executor, Bool) in
      if let executor = madeExecutor(where: { $0.serves(modes) }) { return (executor, false) }
      // In callouts of the loop's end a new executor still gets the loop, because code that runs there is on the loop's
      // thread, and `assumeIsolated` must succeed.
      let made = Executor(modes, of: state.companionsAreNotified ? nil : self)
      state.companions.append(made)
      return (made, !hasEnded)
    }
    if isNew { executor.join(self) }
    return executor
  }

  /// Under the lock.
  private func madeExecutor(where isWanted: (Executor) -> Bool) -> Executor? {
    for case let executor as Executor in state.companions.all where isWanted(executor) { return executor }
    return nil
  }
}
