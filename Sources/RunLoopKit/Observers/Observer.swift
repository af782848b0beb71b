internal import Synchronization

extension RunLoop {
  /// An item that the loop calls when a run begins and ends, and at the steps of each pass.
  ///
  /// The loop calls observers with a lower `order` first, and those of equal order in the order of adding. It does not
  /// call an observer whose callout is on the stack. An observer belongs to one loop at a time. In CFRunLoop:
  /// `CFRunLoopObserverRef`.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let watcher = RunLoop.Observer([.entry, .exit]) { _, activity in
  ///   print(activity == .entry ? "a run begins" : "it ends")
  /// }
  /// try loop.add(watcher)
  /// try loop.run(for: .milliseconds(10))
  /// // prints a run begins
  /// // prints it ends
  /// ```
  public final class Observer: Item, @unchecked Sendable {
    /// The moments at which the loop calls the observer. Never changes.
    public let activities: Activity
    /// If false, the loop invalidates the observer after its first call.
    public let repeats: Bool

    @exclusivity(unchecked) final var body: Body

    /// - Parameters:
    ///   - activities: The moments at which the loop calls the observer.
    ///   - order: The loop calls an observer with a lower order before the others of the same moment.
    ///   - repeats: If false, the loop invalidates the observer after its first call.
    ///   - body: Called on the loop's thread, with no lock held; kept until the observer is invalid (`invalidate()`).
    public convenience init(
      _ activities: Activity, order: Int = 0, repeats: Bool = true,
      _ body: @escaping @Sendable (Observer, Activity) -> Void
    ) {
      self.init(activities, order: order, repeats: repeats, onlyLoop: nil, unchecked: body)
    }

    init(
      _ activities: Activity, order: Int, repeats: Bool, onlyLoop: RunLoop?,
      unchecked body: @escaping (Observer, Activity) -> Void
    ) {
      self.activities = activities
      self.repeats = repeats
      self.body = Body(body)
      super.init(.observer, order: order, onlyLoop: onlyLoop)
    }

    override func releaseBody() {
      var released = Body { _, _ in }
      swap(&body, &released)
    }

    /// True while the observer's callout runs.
    public var isFiring: Bool { firing.load(ordering: .relaxed) }

    override var words: String {
      return "<observer\(labelText) order \(order), \(activities), \(repeats ? "repeats" : "once"), "
        + "\(isValid ? "valid" : "invalid")\(isFiring ? ", firing" : "")\(contextText)>"
    }
  }
}
