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
  /// Registers the source's interest in each of its modes of the loop.
  /// - Parameter isServed: True if the source's own callout makes the call.
  final func registerInterest(on loop: RunLoop, isServed: Bool) throws(RunLoopError) {
    var failure: RunLoopError?
    withLinks { links in
      for link in links where link.loop === loop {
        do throws(RunLoopError) {
          try link.mode?.ports.set?.setInterest(
            registration.interest, token: link.token, of: registration.fileDescriptor, isServed: isServed)
        } catch {
          failure = error
          // Epoll may now refuse other sources on the descriptor, too. The loop wakes and calls them with an error.
          if link.mode?.ports.set?.hasUnwatched == true { loop.interrupt() }
        }
      }
    }
    if let failure { throw failure }
  }
}
