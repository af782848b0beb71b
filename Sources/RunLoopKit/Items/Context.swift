extension RunLoop {
  /// The context of the C model, for this package's C interface, porting layer and scenarios; closures need none.
  ///
  /// `retain` is called when the item is made, and its result becomes the info pointer; `release` is called once at the
  /// end: of an observer and a timer when they are invalidated, of a source when it is destroyed. A timer is also
  /// retained around each callout. All on the thread that causes it, with no lock held. Source:
  /// `CFRunLoopTimerContext` and its kin.
  package struct Context: @unchecked Sendable {
    /// What the callbacks are given: an object of the caller's, or nothing.
    package typealias Info = UnsafeMutableRawPointer
    /// Handed to `retain` first, whose answer takes its place.
    package var info: Info?
    /// Counts one more reference, and answers what to keep. Nil: the context is not counted.
    package var retain: (@Sendable (Info?) -> Info?)?
    /// Gives one reference back.
    package var release: (@Sendable (Info?) -> Void)?
    /// Words for the description of the item.
    package var description: (@Sendable (Info?) -> String)?

    /// A context without callbacks.
    package init(info: Info? = nil) { self.info = info }
  }

  /// A context that is retained at creation and released exactly once.
  final class HeldContext: @unchecked Sendable {
    private let context: Context
    /// The item's own until `release`, and one for each use by another thread meanwhile.
    private let holds = HoldCount()

    init(_ context: Context) {
      var held = context
      if let retain = context.retain { held.info = __RUNLOOPKIT_IS_RETAINING_A_CONTEXT__(retain, context.info) }
      self.context = held
    }

    /// Nil if it has no words, and once the context was released.
    var description: String? {
      guard let describe = context.description, hold() else { return nil }
      defer { endHold() }
      let words = __RUNLOOPKIT_IS_DESCRIBING_A_CONTEXT__(describe, context.info)
      return words.isEmpty ? nil : words
    }

    func release() {
      if holds.giveUp() { giveBack(context.info) }
    }

    /// False if the context was released: its info must not be touched any more.
    private func hold() -> Bool { holds.hold() }

    private func endHold() {
      if holds.release() { giveBack(context.info) }
    }

    /// Around one callout; the answer is to be given to `releaseCallout`. Nil if the context is not counted, or was
    /// released by another thread meanwhile.
    func retainForCallout() -> Context.Info?? {
      guard let retain = context.retain, hold() else { return nil }
      defer { endHold() }
      return .some(__RUNLOOPKIT_IS_RETAINING_A_CONTEXT__(retain, context.info))
    }

    func releaseCallout(_ info: Context.Info??) {
      if case .some(let info) = info { giveBack(info) }
    }

    private func giveBack(_ info: Context.Info?) {
      if let release = context.release { _ = __RUNLOOPKIT_IS_RELEASING_A_CONTEXT__(release, info) }
    }

    deinit { release() }
  }
}

// The items with a context.

extension RunLoop.Timer {
  package convenience init(
    fireDate: some RunLoop.ClockInstant, interval: Duration = .zero, tolerance: Duration? = nil, order: Int = 0,
    context: RunLoop.Context?, _ body: @escaping @Sendable (RunLoop.Timer) -> Void
  ) {
    self.init(
      type(of: fireDate).clock, date: fireDate.nanoseconds, interval: interval, tolerance: tolerance, order: order,
      context: context, onlyHost: nil, unchecked: body)
  }
}

extension RunLoop.Observer {
  package convenience init(
    _ activities: RunLoop.Activity, order: Int = 0, repeats: Bool = true, context: RunLoop.Context?,
    _ body: @escaping @Sendable (RunLoop.Observer, RunLoop.Activity) -> Void
  ) {
    self.init(activities, order: order, repeats: repeats, context: context, onlyHost: nil, unchecked: body)
  }
}

extension RunLoop.Source {
  package convenience init(
    order: Int = 0, context: RunLoop.Context?, hooks: Hooks = Hooks(),
    _ body: @escaping @Sendable (RunLoop.Source) -> Void
  ) {
    self.init(order: order, context: context, hooks: hooks, onlyHost: nil, unchecked: body)
  }
}

extension RunLoop.PortSource {
  package convenience init(
    fileDescriptor: Int32, order: Int = 0, context: RunLoop.Context?,
    _ body: @escaping @Sendable (RunLoop.PortSource) -> Void
  ) throws {
    try self.init(
      fileDescriptor: fileDescriptor, limit: nil, order: order, context: context, onlyHost: nil, unchecked: body)
  }
}
