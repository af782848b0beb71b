internal import Synchronization

extension RunLoop {
  /// Is called when a run begins and ends, and at the steps of each pass.
  ///
  /// Called in the order of `order`, equal ones in the order of adding; not while its own callout runs further up the
  /// stack. Belongs to one loop at a time. Source: `CFRunLoopObserverRef`.
  public final class Observer: Item, @unchecked Sendable {
    /// When the loop calls it. Never changes.
    public let activities: Activity
    /// False: invalidated after its first call.
    public let repeats: Bool

    @exclusivity(unchecked) final var body: Body

    /// - Parameters:
    ///   - activities: At which moments of a pass it is called.
    ///   - order: Observers of one moment are called in this order, lower ones first.
    ///   - repeats: False: the observer is invalid after its first call.
    ///   - body: Called on the loop's thread, with no lock held; kept until the observer is invalid (`invalidate()`).
    public convenience init(
      _ activities: Activity, order: Int = 0, repeats: Bool = true,
      _ body: @escaping @Sendable (Observer, Activity) -> Void
    ) {
      self.init(activities, order: order, repeats: repeats, onlyHost: nil, unchecked: body)
    }

    init(
      _ activities: Activity, order: Int, repeats: Bool, onlyHost: RunLoop?,
      unchecked body: @escaping (Observer, Activity) -> Void
    ) {
      self.activities = activities
      self.repeats = repeats
      self.body = Body(body)
      super.init(.observer, order: order, onlyHost: onlyHost)
    }

    override func releaseBody() {
      var released = Body { _, _ in }
      swap(&body, &released)
    }

    /// True while its callout runs.
    public var isFiring: Bool { firing.load(ordering: .relaxed) }

    override var words: String {
      return "<observer\(labelText) order \(order), \(activities), \(repeats ? "repeats" : "once"), "
        + "\(isValid ? "valid" : "invalid")\(isFiring ? ", firing" : "")\(contextText)>"
    }
  }
}
