extension RunLoop {
  /// Calls a closure at a fixed rate, for example to draw or to sample: a frame clock without a display.
  ///
  /// The frames lie on a grid that does not move: a late or long callout does not shift later frames. The link drops
  /// frames whose time has passed meanwhile, and counts them. A link is a member of modes like a timer: while the loop
  /// runs in another mode, it does not call the closure, and the frames of that time count as dropped. The link uses
  /// the suspending clock, so there are no frames while the machine is suspended.
  ///
  /// This value is a handle: the modes retain the link. A link that is in no mode and has no other reference is
  /// destroyed.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let link = RunLoop.DisplayLink(rate: RunLoop.FrameRate(frames: 100)) { link, frame in
  ///   print(frame.timestamp < frame.targetTimestamp)  // prints true
  ///   link.invalidate()
  ///   loop.stop()
  /// }
  /// try link.add(to: loop)
  /// try loop.run()
  /// ```
  /// - Thread: Any. - SeeAlso: `CADisplayLink`.
  public struct DisplayLink: Hashable, Sendable {
    /// The frame that a callout is for.
    public struct Frame: Hashable, Sendable {
      /// The number of the frame, from 1; dropped frames count.
      public let number: Int
      /// When the frame was due: its place on the grid, not the moment of the call.
      public let timestamp: Instant
      /// When the next frame is due.
      public let targetTimestamp: Instant
      /// How many frames were dropped between the previous callout and this one.
      public let dropped: Int
    }

    private let timer: Timer
    private let core: Core

    /// Creates a link in no mode. Its first frame is due one frame's duration after it is first added.
    /// - Parameters:
    ///   - rate: The number of frames and their duration.
    ///   - file: Named by reports of a slow callout, as `line`; leave both out.
    ///   - line: The line of the call.
    ///   - body: Called on the loop's thread, with no lock held; kept until the link is invalidated or gone.
    public init(
      rate: FrameRate = FrameRate(frames: 60), file: StaticString = #fileID, line: UInt = #line,
      _ body: @escaping @Sendable (DisplayLink, Frame) -> Void
    ) {
      self.init(rate, onlyLoop: nil, at: CallPlace(file, line), unchecked: body)
    }

    fileprivate init(
      _ rate: FrameRate, onlyLoop: RunLoop?, at place: CallPlace,
      unchecked body: @escaping (DisplayLink, Frame) -> Void
    ) {
      let core = Core(rate)
      self.core = core
      // The interval only keeps the timer from being one-shot, since each callout sets the next date. The tolerance is
      // zero even in a loop with a default tolerance.
      timer = Timer(
        .suspending, date: Time.forever, interval: .seconds(Int64.max), tolerance: .zero, order: 0, onlyLoop: onlyLoop,
        unchecked: { DisplayLink($0, core).fire(body) })
      timer.place = place
    }

    private init(_ timer: Timer, _ core: Core) {
      self.timer = timer
      self.core = core
    }

    /// A name for the link, which the loop's description and reports of slow callouts show. Nil at first.
    public var label: String? {
      get { timer.label }
      nonmutating set { timer.label = newValue }
    }

    /// Adds the link to a mode, as `RunLoop.add(_:to:)` adds an item. If the link was in no mode, its frames continue
    /// from now, and those of the pause do not count as dropped. If it was in another mode of the loop, its frames do
    /// not change [RLK-PATTERN-9].
    @discardableResult
    public func add(to loop: RunLoop, in mode: Mode = .default) throws -> Bool {
      let isNew = timer.owner == nil
      let isAdded = try loop.add(timer, to: mode)
      if isNew, isAdded {
        core.resume(now: loop.kernel.now())
        rearmTimer()
      }
      return isAdded
    }

    /// Removes the link from a mode, as `RunLoop.remove(_:from:)` removes an item.
    @discardableResult
    public func remove(from loop: RunLoop, in mode: Mode = .default) -> Bool { loop.remove(timer, from: mode) }

    /// Removes the link from all modes for good; its closure is released as by `Item.invalidate()`.
    public func invalidate() { timer.invalidate() }

    /// False once it was invalidated.
    public var isValid: Bool { timer.isValid }

    /// While true there are no frames. The grid stays, and frames that pass meanwhile do not count as dropped.
    public var isPaused: Bool {
      get { core.isPaused }
      nonmutating set {
        if core.pause(newValue, now: now) { rearmTimer() }
      }
    }

    /// The number of frames and their duration. A new rate begins at the last frame of the old one.
    public var rate: FrameRate {
      get { core.rate }
      nonmutating set {
        core.setRate(newValue, now: now)
        rearmTimer()
      }
    }

    /// The time on its loop's clock.
    private var now: UInt64 { timer.kernel.now() }

    /// How many frames were dropped since the link was created.
    public var droppedFrames: Int { Int(clamping: core.dropped) }

    /// Sets the timer to the next frame. Repeats that while another thread changes the link in between.
    private func rearmTimer() {
      var (version, date) = core.next
      timer.fireDate = date
      while version != core.next.version {
        (version, date) = core.next
        timer.fireDate = date
      }
    }

    /// Called by the timer's closure. Only that closure retains the body, so `invalidate()` releases it.
    private func fire(_ body: (DisplayLink, Frame) -> Void) {
      // Nil if another thread has paused or resumed the link meanwhile.
      let frame = core.nextFrame(now: Kernel.now())
      rearmTimer()
      guard let frame else { return }
      body(self, frame)
    }

    /// True for handles of the same link.
    public static func == (a: DisplayLink, b: DisplayLink) -> Bool { a.timer === b.timer }
    /// Hashes the identity of the link.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(timer)) }
  }
}

extension RunLoop.Local {
  /// Creates a display link and adds it to `mode`.
  /// - Parameters:
  ///   - rate: The number of frames and their duration.
  ///   - mode: `.common` stands for all common modes.
  ///   - file: Named by reports of a slow callout, as `line`; leave both out.
  ///   - line: The line of the call.
  ///   - body: Called on this thread for each frame.
  /// - Throws: As `DisplayLink.add(to:in:)`.
  @discardableResult
  public func displayLink(
    rate: RunLoop.FrameRate = RunLoop.FrameRate(frames: 60), in mode: RunLoop.Mode = .default,
    file: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping (RunLoop.DisplayLink, RunLoop.DisplayLink.Frame) -> Void
  ) throws -> RunLoop.DisplayLink {
    let link = RunLoop.DisplayLink(rate, onlyLoop: loop, at: CallPlace(file, line), unchecked: body)
    try link.add(to: loop, in: mode)
    return link
  }
}

extension RunLoop.DisplayLink {
  /// Computes the next frame. Its lock nests with no other lock, and no user code runs under it.
  fileprivate final class Core: @unchecked Sendable {
    private let lock = Lock()
    private var storedRate: RunLoop.FrameRate
    private var grid: FrameGrid
    /// The last frame, as a number on the grid.
    private var last: UInt64 = 0
    private var number: UInt64 = 0
    private var isResting = false
    /// Changes with each change of the schedule.
    private var version: UInt64 = 0
    private var droppedSoFar: UInt64 = 0

    init(_ rate: RunLoop.FrameRate) {
      storedRate = rate
      grid = FrameGrid(phase: Kernel.now(), rate: rate)
    }

    var isPaused: Bool { lock.withLock { isResting } }
    var rate: RunLoop.FrameRate { lock.withLock { storedRate } }
    var dropped: UInt64 { lock.withLock { droppedSoFar } }

    /// False if the link was in that state already.
    func pause(_ rests: Bool, now: UInt64) -> Bool {
      lock.withLock {
        if isResting == rests { return false }
        isResting = rests
        if !rests { skip(to: now) }
        return true
      }
    }

    func setRate(_ rate: RunLoop.FrameRate, now: UInt64) {
      lock.withLock {
        storedRate = rate
        grid = FrameGrid(phase: grid.date(of: last), rate: rate)
        last = 0
        skip(to: now)
      }
    }

    func resume(now: UInt64) { lock.withLock { skip(to: now) } }

    /// Makes the first frame after `now` the next one. If there was no frame yet, begins the grid at `now`.
    private func skip(to now: UInt64) {
      version += 1
      if number == 0 { grid = FrameGrid(phase: now, rate: storedRate) }
      last = max(last, grid.frame(at: now))
    }

    /// The date of the next frame, or `distantFuture` while the link is paused, and the version of the schedule.
    var next: (version: UInt64, date: RunLoop.Instant) {
      lock.withLock {
        (version, isResting ? .distantFuture : RunLoop.Instant(nanoseconds: grid.date(of: last + 1)))
      }
    }

    /// Takes the frame that is due; nil if none is.
    func nextFrame(now: UInt64) -> Frame? {
      lock.withLock {
        let current = grid.frame(at: now)
        guard !isResting, current > last else { return nil }
        let skipped = current - last - 1
        last = current
        number += skipped + 1
        droppedSoFar += skipped
        return Frame(
          number: Int(clamping: number), timestamp: .init(nanoseconds: grid.date(of: current)),
          targetTimestamp: .init(nanoseconds: grid.date(of: current + 1)), dropped: Int(clamping: skipped))
      }
    }
  }
}
