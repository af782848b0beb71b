extension RunLoop {
  /// The context of the C model, for ported code and C hosts; closures need none.
  ///
  /// `retain` is called when the item is made and its result becomes the info pointer; `release` once at the end: of an
  /// observer and a timer when they are invalidated, of a source when it is destroyed. A timer is also retained around
  /// each callout. All on the thread that causes it, with no lock held. Source: `CFRunLoopTimerContext` and its kin.
  public struct Context: @unchecked Sendable {
    /// What the callbacks are given: an object of the caller's, or nothing.
    public typealias Info = UnsafeMutableRawPointer
    /// Handed to `retain` first, whose answer takes its place.
    public var info: Info?
    /// Counts one more reference, and answers what to keep. Nil: the context is not counted.
    public var retain: (@Sendable (Info?) -> Info?)?
    /// Gives one reference back.
    public var release: (@Sendable (Info?) -> Void)?
    /// Words for the description of the item.
    public var description: (@Sendable (Info?) -> String)?

    /// A context without callbacks.
    public init(info: Info? = nil) { self.info = info }
  }

  /// A context that is retained at creation and released exactly once.
  final class HeldContext: @unchecked Sendable {
    private let context: Context
    /// The item's own until `release`, and one for each use by another thread meanwhile.
    private let holds = HoldCount()

    init(_ context: Context) {
      var held = context
      if let retain = context.retain { held.info = retain(context.info) }
      self.context = held
    }

    /// Nil once the context was released.
    var description: String? {
      guard let describe = context.description, hold() else { return nil }
      defer { endHold() }
      return describe(context.info)
    }

    func release() {
      if holds.giveUp() { context.release?(context.info) }
    }

    /// False if the context was released: its info must not be touched any more.
    private func hold() -> Bool { holds.hold() }

    private func endHold() {
      if holds.release() { context.release?(context.info) }
    }

    /// Around one callout; the answer is to be given to `releaseCallout`. Nil if the context is not counted, or was
    /// released by another thread meanwhile.
    func retainForCallout() -> Context.Info?? {
      guard let retain = context.retain, hold() else { return nil }
      defer { endHold() }
      return .some(retain(context.info))
    }

    func releaseCallout(_ info: Context.Info??) {
      if case .some(let info) = info { context.release?(info) }
    }

    deinit { release() }
  }
}
