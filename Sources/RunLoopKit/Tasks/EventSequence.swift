extension RunLoop {
  /// A sequence of what items of a loop report, for tasks: one element for each callout [RLK-STREAM-1].
  ///
  /// ```swift
  /// let (right, messages) = RunLoop.main.messages()
  /// try right.trySend(RunLoop.Message(id: 7))
  /// try RunLoop.main.run {
  ///   for try await message in messages {
  ///     print(message.id)  // prints 7
  ///     break
  ///   }
  /// }
  /// ```
  ///
  /// **Nothing is lost, and nothing piles up.** The items are in the mode only while a task waits for the next element.
  /// While the task is busy, events wait where they arise: in the descriptor, in the port's queue, in the kernel
  /// [RLK-STREAM-2]. Activities, ends of processes and shortages of memory are exceptions. The functions that make
  /// these sequences describe them. An item that is in no mode does not keep a run going.
  ///
  /// **Several tasks** may iterate over one sequence, also by copies of it: each element goes to one of them, in the
  /// order in which they wait [RLK-STREAM-3].
  ///
  /// **The end.** Cancelling a task that waits ends its wait at once: `next()` throws `CancellationError`, and the next
  /// element goes to another task [RLK-STREAM-4]. The items are invalidated when the last copy of the sequence and its
  /// iterators are released [RLK-STREAM-5], and when the loop ends. After the loop's end `next()` throws `.loopEnded`
  /// in a task that waits, and in each later one [RLK-STREAM-6].
  /// - Thread: Any.
  public struct EventSequence<Element: Sendable>: AsyncSequence, Sendable {
    /// What `next()` throws.
    public typealias Failure = any Error
    private let subscription: Subscription

    /// Cancels the feed when the last copy of the sequence and its iterators are released.
    fileprivate final class Subscription: Sendable {
      let feed: EventFeed<Element>
      init(_ feed: EventFeed<Element>) { self.feed = feed }
      deinit { feed.cancel() }
    }

    /// - Parameters:
    ///   - kept: How many of the newest elements the feed keeps, while the items stay in the mode. If it is nil, the
    ///     items are in the mode only while a task waits.
    ///   - appendItems: Appends the items. If it throws, those that it has appended are invalidated.
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

    /// Creates a sequence of items whose creation cannot fail. If the loop has ended, `next()` throws.
    package init(of loop: RunLoop, in mode: Mode, _ appendItems: (EventFeed<Element>) -> Void) {
      let feed = EventFeed<Element>(loop, mode, keepingNewest: nil)
      subscription = Subscription(feed)
      appendItems(feed)
      do { try feed.watchTheLoop() } catch { feed.cancel() }  // `next()` throws the reason
    }

    /// Awaits the elements of a sequence.
    public struct AsyncIterator: AsyncIteratorProtocol {
      fileprivate let subscription: Subscription

      /// Suspends the task until the next element.
      ///
      /// - Returns: The next element; nil if no more can come.
      /// - Throws: `CancellationError`; `.loopEnded`; `.invalidItem` if other code has invalidated the item; otherwise
      ///   the errors of `add(_:to:)`.
      /// - Thread: Any. - Blocks: No. - Complexity: Adding the item to its mode and removing it.
      public mutating func next() async throws -> Element? { try await subscription.feed.next() }

      /// As `next()`, on the caller's actor.
      public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
        try await subscription.feed.next()
      }
    }

    /// Returns an iterator. All iterators share the elements of the sequence.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(subscription: subscription) }
  }
}
