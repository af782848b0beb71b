extension RunLoop {
  /// Called when an item's interest was set.
  func interestChanged(_ source: DescriptorItem) throws(RunLoopError) {
    guard isUsable else { return }
    let isServed = isCurrent && innermostRun.servedSource === source
    lock.lock()
    defer { lock.unlock() }
    try source.registerInterest(on: self, isServed: isServed)
  }
}

extension RunLoop.DescriptorItem {
  /// Registers the source's interest in each of its modes of the loop. `isServed`: the call comes from the source's own
  /// callout.
  final func registerInterest(on loop: RunLoop, isServed: Bool) throws(RunLoopError) {
    var failure: RunLoopError?
    withLinks { links in
      for link in links where link.loop === loop {
        do throws(RunLoopError) {
          try link.mode?.ports.set?.setInterest(
            registration.interest, token: link.token, of: registration.fileDescriptor, isServed: isServed)
        } catch {
          failure = error
          if link.mode?.ports.set?.hasUnwatched == true { loop.interrupt() }  // for sources that share the descriptor
        }
      }
    }
    if let failure { throw failure }
  }
}
