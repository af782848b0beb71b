extension RunLoop {
  /// The readiness of a descriptor, for tasks, by a `FileDescriptorSource` that is in the mode while a task waits.
  ///
  /// The descriptor is level-triggered: an element tells that it was ready a moment ago, and a task that does not read
  /// gets the next element at once. That includes a hang-up that lasts, which ends no sequence: it can pass. A task
  /// that goes on after a hang-up gets it again at once; to follow a FIFO, use a `FileDescriptorSource`.
  /// - Parameters:
  ///   - fileDescriptor: As for the source.
  ///   - interest: What to wait for. `.hangup` and `.error` are delivered in any case.
  ///   - ownership: Whether the descriptor is closed when the sequence is released.
  ///   - unpollable: What becomes of a descriptor that the kernel cannot watch, as standard input often is.
  ///   - mode: A loop that does not run in this mode delivers nothing.
  /// - Throws: As `FileDescriptorSource.init`, which closes nothing then; and `.loopEnded` and `.forked` as
  ///   `add(_:to:)`, after an owned descriptor was closed.
  /// - Thread: Any. - Complexity: Two system calls an element.
  public func readiness(
    of fileDescriptor: Int32, for interest: FileDescriptorSource.Readiness = .readable,
    ownership: FileDescriptorSource.Ownership = .borrowed, unpollable: FileDescriptorSource.Unpollable = .refuse,
    in mode: Mode = .default
  ) throws -> EventSequence<FileDescriptorSource.Readiness> {
    try EventSequence(of: self, in: mode) { feed in
      let turn = feed.makeTurn()
      feed.append(
        try FileDescriptorSource(
          fileDescriptor: fileDescriptor, interest: interest, ownership: ownership, unpollable: unpollable
        ) { _, ready in
          // The loop reports an end once: each task that waits gets it.
          if ready.isDisjoint(with: [.hangup, .error]) { turn.deliver(ready) } else { turn.deliverToAll(ready) }
        })
    }
  }

  /// A new port, and its messages, for tasks.
  ///
  /// The port is in the mode while a task waits: so a task that is busy holds the senders back as soon as `queueLimit`
  /// messages wait.
  ///
  /// The sequence ends when the last copy of the right is gone, here and in other processes, and the messages that
  /// waited have been delivered [RLK-STREAM-10]. A process that has got the right by a connection that it has accepted
  /// may keep it until the connection ends.
  /// - Parameters:
  ///   - queueLimit: As for a `Port`.
  ///   - mode: A loop that does not run in this mode delivers nothing.
  /// - Returns: The right to send to the port, and the sequence. The port is invalid when the sequence is released, and
  ///   when it has ended.
  /// - Thread: Any. - Complexity: O(1).
  public func messages(
    queueLimit: Int = Port.defaultQueueLimit, in mode: Mode = .default
  ) -> (right: Port.SendRight, messages: EventSequence<Message>) {
    var right: Port.SendRight?
    let messages = EventSequence<Message>(of: self, in: mode) { feed in
      let turn = feed.makeTurn()
      let end = SendersEnd()
      let port = Port(queueLimit: queueLimit) { port, message in
        if end.isMessage(message) { turn.finish() } else { turn.deliver(message, isLast: end.hasCome(behind: port)) }
        if turn.isFinished { port.invalidate() }
      }
      feed.append(port)
      right = Port.SendRight(StreamRight(to: port.mailbox, end))
    }
    return (right.unsafelyUnwrapped, messages)  // made above
  }

  /// The activities of the loop, for tasks.
  ///
  /// The loop does not wait for a task: an observer keeps the newest activities for it, and drops older ones
  /// [RLK-STREAM-7]. A task on the loop's own executor, or on the main actor for the main loop, gets an activity in the
  /// pass after it at the earliest, and makes that pass necessary: if it awaits the activities of a loop that would
  /// sleep, the loop never sleeps. Await them on another executor.
  /// - Parameters:
  ///   - activities: Which ones.
  ///   - mode: The observer's mode.
  ///   - count: How many activities are kept for a busy task; less than 1 counts as 1.
  /// - Throws: As `add(_:to:)`.
  /// - Thread: Any. - Complexity: O(1) an activity.
  public func activities(
    _ activities: Activity, in mode: Mode = .default, keepingNewest count: Int = 16
  ) throws -> EventSequence<Activity> {
    try EventSequence(of: self, in: mode, keepingNewest: max(1, count)) { feed in
      let turn = feed.makeTurn()
      feed.append(Observer(activities) { _, activity in turn.deliver(activity) })
    }
  }
}

extension RunLoop.Clock {
  /// One element at each date of a phase, for tasks, by this clock. Iterators are independent of each other.
  ///
  /// The first date is one interval from the call. A task that is busy misses dates: the next element comes at once, is
  /// the latest date that has passed, and tells how many were skipped [RLK-STREAM-8]. So nothing piles up, and the
  /// phase is kept.
  /// - Parameters:
  ///   - interval: In whole nanoseconds, rounded up; zero or less counts as one.
  ///   - tolerance: How much later than its date an element may come, to save a wake; at most half the interval. Nil:
  ///     the loop's `defaultTimerTolerance`.
  /// - Returns: A value, which retains the loop; `next()` never answers nil, and throws as `sleep(until:tolerance:)`.
  /// - Thread: Any. - Complexity: O(log timers) an element.
  public func ticks(
    every interval: Duration, tolerance: Duration? = nil
  ) -> some AsyncSequence<RunLoop.Tick, any Error> & Sendable {
    let interval = Duration(nanoseconds: max(interval, .nanoseconds(1)).nanosecondsRoundedUp)
    let most = min(tolerance ?? sleeps.loop.defaultTimerTolerance, interval / 2)
    return Ticks(clock: self, start: now, interval: interval, tolerance: most)
  }
}

extension RunLoop {
  /// A date of `RunLoop.Clock.ticks(every:tolerance:)` that has come.
  public struct Tick: Hashable, Sendable {
    /// When it was due.
    public let date: Instant
    /// How many dates before it have passed since the last element.
    public let missed: Int
  }
}

private struct Ticks: AsyncSequence, Sendable {
  let clock: RunLoop.Clock
  let start: RunLoop.Instant
  let interval: Duration
  let tolerance: Duration

  struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let ticks: Ticks
    fileprivate var last: RunLoop.Instant

    mutating func next() async throws -> RunLoop.Tick? { try await next(isolation: #isolation) }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> RunLoop.Tick? {
      let due = last.advanced(by: ticks.interval)
      try await ticks.clock.sleep(until: due, tolerance: ticks.tolerance)
      let late = due.duration(to: ticks.clock.now).nanosecondsRoundedUp
      let missed = Int(clamping: late / ticks.interval.nanosecondsRoundedUp)
      last = due.advanced(by: ticks.interval * missed)
      return RunLoop.Tick(date: last, missed: missed)
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(ticks: self, last: start) }
}
