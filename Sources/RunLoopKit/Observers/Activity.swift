extension RunLoop {
  /// The moments at which a loop calls observers. The numbers are `CFRunLoopActivity`'s.
  ///
  /// ```swift
  /// let sleeping: RunLoop.Activity = [.beforeWaiting, .afterWaiting]
  /// print(sleeping)  // prints before-waiting|after-waiting
  /// let loop = RunLoop.current
  /// let once = RunLoop.Observer(sleeping, repeats: false) { _, activity in print(activity) }  // prints before-waiting
  /// try loop.add(once)
  /// try loop.run(for: .milliseconds(10))
  /// ```
  public struct Activity: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// A sum of the bits of `CFRunLoopActivity`.
    public let rawValue: UInt

    /// Keeps bits without a name. The loop never calls observers for them.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// A run begins.
    public static let entry = Activity(rawValue: 1)
    /// A pass begins.
    public static let beforeTimers = Activity(rawValue: 2)
    /// The loop is about to run blocks, and then to perform the signalled sources.
    public static let beforeSources = Activity(rawValue: 4)
    /// The loop is about to sleep. A pass that polls skips this activity.
    public static let beforeWaiting = Activity(rawValue: 32)
    /// The wait has ended, even if it returned at once. A pass that polls skips this activity.
    public static let afterWaiting = Activity(rawValue: 64)
    /// A run ends.
    public static let exit = Activity(rawValue: 128)
    /// Every activity, including future ones.
    public static let all = Activity(rawValue: 0x0FFF_FFFF)

    private static let names: [(Activity, String)] = [
      (.entry, "entry"), (.beforeTimers, "before-timers"), (.beforeSources, "before-sources"),
      (.beforeWaiting, "before-waiting"), (.afterWaiting, "after-waiting"), (.exit, "exit"),
    ]

    /// The names, as in the scenario language.
    public var description: String {
      if self == .all { return "all" }
      let named = Self.names.filter { contains($0.0) }.map(\.1)
      return named.isEmpty ? "none" : named.joined(separator: "|")
    }
  }
}
