extension RunLoop {
  /// Wakes a loop that waits, or keeps the next wait of the current pass from blocking. The loop ignores the call while
  /// it does not run. It also ignores the call from the end of a wait until the next pass begins, because that pass
  /// sees what was published before. So a thread that invalidates the last item of a mode, and then wakes the loop,
  /// ends the run [RLK-RUN-13].
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let mail = RunLoop.Source { _ in loop.stop() }
  /// try loop.add(mail)
  /// let worker = RunLoop.Thread(name: "worker")
  /// try worker.start()
  /// try worker.perform {
  ///   mail.signal()
  ///   loop.wakeUp()  // without it the loop would sleep on
  /// }
  /// print(try loop.run())  // prints stopped
  /// ```
  /// - Thread: Any.
  /// - Blocks: No; lock-free, one write(2) if the loop sleeps, else none [RLK-COST-3, RLK-COST-4].
  /// - SeeAlso: `CFRunLoopWakeUp`.
  public func wakeUp() {
    guard isInThisProcess else { return }
    wakes.word.signal()
  }

  /// True while the loop sleeps, and nothing has woken it yet. - SeeAlso: `CFRunLoopIsWaiting`.
  public var isWaiting: Bool { isUsable && wakes.word.isAsleep }

  /// Makes a sleeping loop do a pass. Unlike a wake, an interrupt is for no enclosing run. - Thread: Any.
  func interrupt() { wakes.word.interrupt() }

  /// Called when a port set is made. Makes the wakeup port unless it exists, and returns its descriptor. Under the
  /// lock.
  func makeWakeup() throws(RunLoopError) -> Int32 {
    let descriptor = try wakes.word.make()
    wakes.word.reportLosses(to: self)
    return descriptor
  }
}
