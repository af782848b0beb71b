extension RunLoop {
  /// What the items of a loop report, for tasks: one element for each callout [RLK-STREAM-1].
  ///
  /// ```swift
  /// for try await info in try RunLoop.main.signals(.hangup) { readConfiguration() }
  /// ```
  ///
  /// **Nothing is lost, and nothing piles up.** The items are in the mode only while a task waits for the next element.
  /// While the task is busy, events wait where they wait for an item that is in no mode: in the descriptor, in the
  /// port's queue, with the kernel [RLK-STREAM-2]. The exceptions say so: activities, and shortages of memory. An item
  /// that is in no mode does not keep a run going.
  ///
  /// **Several tasks** may iterate over one sequence, also by copies of it: each element goes to one of them, in the
  /// order in which they wait [RLK-STREAM-3].
  ///
  /// **The end.** Cancelling a task that waits ends its wait at once; it throws `CancellationError`, and the next
  /// element goes to somebody else [RLK-STREAM-4]. The items are invalidated when the last copy of the sequence and its
  /// iterators are released [RLK-STREAM-5], and when the loop ends: a task that waits then, and each later one, throw
  /// `.loopEnded` [RLK-STREAM-6].
  /// - Thread: Any.
  public struct EventSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// What `next()` throws.
    public typealias Failure = any Error
    private let subscription: Subscription

    /// Ends what it has begun when the last sequence and iterator are gone.
    fileprivate final class Subscription: Sendable {
      let feed: EventFeed<Element>
      init(_ feed: EventFeed<Element>) { self.feed = feed }
      deinit { feed.cancel() }
    }

    /// - Parameters:
    ///   - kept: How many elements are kept of items that stay in the mode from now on; nil: they do not.
    ///   - appendItems: If it throws, the items that it has appended are invalidated.
    package init(
      of loop: RunLoop, in mode: Mode, keepingNewest kept: Int? = nil,
      _ appendItems: (EventFeed<Element>) throws -> Void
    ) throws {
      let feed = EventFeed<Element>(loop, mode, keepingNewest: kept)
      subscription = Subscription(feed)
      try appendItems(feed)
      try feed.watchTheLoop()
      if kept != nil { try feed.join() }
    }

    /// As the other one, of items that cannot fail.
    package init(of loop: RunLoop, in mode: Mode, _ appendItems: (EventFeed<Element>) -> Void) {
      let feed = EventFeed<Element>(loop, mode, keepingNewest: nil)
      subscription = Subscription(feed)
      appendItems(feed)
      do { try feed.watchTheLoop() } catch { feed.cancel() }  // `next()` says why
    }

    /// Awaits the elements of a sequence.
    public struct AsyncIterator: AsyncIteratorProtocol {
      fileprivate let subscription: Subscription

      /// Suspends the task until the next element.
      ///
      /// - Returns: Nil if no more can come.
      /// - Throws: `CancellationError`; `.loopEnded`; `.invalidItem` if other code has invalidated the item; else as
      ///   `add(_:to:)`.
      /// - Thread: Any. - Blocks: No. - Complexity: Adding the item to its mode and removing it.
      public mutating func next() async throws -> Element? { try await subscription.feed.next() }

      /// As `next()`, without leaving the actor of the caller.
      public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
        try await subscription.feed.next()
      }
    }

    /// An iterator over the elements from now on: iterators share them.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }
  }
}
