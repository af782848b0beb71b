extension RunLoop {
  /// What `activities(_:in:keepingNewest:)` makes: the moments of the loop's passes.
  public typealias ActivitySequence = EventSequence<Activity>

  /// Creates a sequence of the loop's activities, for tasks.
  ///
  /// The loop does not wait for a task: an observer keeps the newest activities for the task, and drops older ones
  /// [RLK-STREAM-7]. A task on the loop's own executor, or on the main actor for the main loop, receives an activity in
  /// a later pass, and causes that pass. So if such a task awaits the activities around a sleep, the loop never sleeps:
  /// await them on another executor.
  /// - Parameters:
  ///   - activities: The activities that the sequence delivers.
  ///   - mode: The observer's mode.
  ///   - count: How many activities the observer keeps for a busy task; less than 1 counts as 1.
  /// - Throws: As `add(_:to:)`.
  /// - Thread: Any. - Complexity: O(1) for each activity.
  public func activities(
    _ activities: Activity, in mode: Mode = .default, keepingNewest count: Int = 16
  ) throws -> ActivitySequence {
    try EventSequence(of: self, in: mode, keepingNewest: max(1, count)) { feed in
      let turn = feed.makeTurn()
      feed.append(Observer(activities) { _, activity in turn.deliver(activity) })
    }
  }
}
