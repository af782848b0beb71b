/// One run, on the stack of its thread: the way to what is kept of it there. Owner only.
struct Activation: Equatable {
  private let place: UnsafeMutablePointer<State>

  /// What lies on the stack.
  struct State {
    let parent: Activation?
    let mode: ModePointer
    /// The current mode before.
    let outerMode: ModePointer?
    /// The item from whose callout it was begun, to be recorded again when it ends; 0: none.
    let enclosingCallout: UInt
    /// Where its scope begins in the thread's scopes: before its entry observers.
    let scope: Int
    /// What the run ends for. Held by the caller until the run has ended.
    let awaited: Unmanaged<AwaitedEnd>?
    /// The readiness source whose callout, which holds it, is on the stack: nested runs leave it out.
    var serving: Unmanaged<RunLoop.FileDescriptorSource>?
    var wakes = Wakes.OfRun.accepting
    /// Decided after the entry observers: a mode that becomes common later serves the main queue from its next run on.
    var servesMainQueue = false
    /// A nested run has left it out of its set: it comes back when its callout ends.
    var isServingMuted = false
    /// A perform that counts as a source has run among its blocks, since the last `takePerform`.
    var hasPerformed = false
  }

  /// Of a state that lasts until the run has ended.
  @inline(__always)
  init(_ place: UnsafeMutablePointer<State>) { self.place = place }

  /// Of its state: no other run on the stack has it.
  var address: UInt { UInt(bitPattern: place) }

  private var state: State {
    @inline(__always) unsafeAddress { UnsafePointer(place) }
    @inline(__always) nonmutating unsafeMutableAddress { place }
  }

  /// The run in one of whose callouts it was begun.
  @inline(__always)
  var parent: Activation? { state.parent }
  @inline(__always)
  var mode: ModePointer { state.mode }
  @inline(__always)
  var outerMode: ModePointer? { state.outerMode }
  @inline(__always)
  var enclosingCallout: UInt { state.enclosingCallout }
  @inline(__always)
  var scope: Int { state.scope }

  @inline(__always)
  var servesMainQueue: Bool {
    get { state.servesMainQueue }
    nonmutating set { state.servesMainQueue = newValue }
  }

  /// The wakes that it has yet to look for: `Wakes` decides.
  var wakes: Wakes.OfRun {
    @inline(__always) get { state.wakes }
    @inline(__always) nonmutating _modify { yield &state.wakes }
  }

  // MARK: What it ends for

  /// It has come.
  var hasAnswer: Bool { state.awaited.map { $0.takeUnretainedValue().isOver } ?? false }

  @inline(__always)
  var awaitsCondition: Bool { state.awaited.map { $0.takeUnretainedValue().isCondition } ?? false }

  /// As `hasAnswer`, at the end of a pass: a condition is looked at.
  @inline(__always)
  func looksForAnswer() -> Bool { state.awaited != nil && looksForAwaited() }

  @inline(never)
  private func looksForAwaited() -> Bool { state.awaited.map { $0.takeUnretainedValue().look() } ?? false }

  /// A stop has reached the run: whether that ends it.
  @inline(never)
  func isStopped() -> Bool { state.awaited.map { $0.takeUnretainedValue().isStopped() } ?? true }

  // MARK: Performs that count as a source

  func notePerform() { state.hasPerformed = true }

  /// True if there was one since the last call.
  @inline(__always)
  func takePerform() -> Bool {
    guard state.hasPerformed else { return false }
    state.hasPerformed = false
    return true
  }

  // MARK: The readiness source that it serves

  @inline(__always)
  var serving: RunLoop.FileDescriptorSource? { state.serving?.takeUnretainedValue() }

  /// The caller retains the source until `endServing`.
  @inline(__always)
  func beginServing(_ source: RunLoop.FileDescriptorSource) { state.serving = Unmanaged.passUnretained(source) }

  /// True if a nested run has left it out.
  @inline(__always)
  func endServing() -> Bool {
    state.serving = nil
    guard state.isServingMuted else { return false }
    state.isServingMuted = false
    return true
  }

  func noteMuted() { state.isServingMuted = true }
}

/// What a run ends for, beside a stop, its limit and an empty mode: the answer to a request, the end of a task, a
/// condition. Owner only.
class AwaitedEnd {
  /// It comes without an event of the mode: every wake asks for a look at it.
  final let isCondition: Bool

  init(isCondition: Bool = false) { self.isCondition = isCondition }

  /// It has come. Calls nobody.
  var isOver: Bool { false }

  /// As `isOver`, once a pass.
  func look() -> Bool { isOver }

  /// A stop has reached the run: whether that ends it.
  func isStopped() -> Bool { true }
}

/// How long a run may take (rule 5).
struct RunLimit {
  /// Seconds beyond this are no limit, about 16 years.
  private static let longest: UInt64 = 504_911_232 * 1_000_000_000

  /// 0: one pass that does not wait. Never: no limit.
  private let nanoseconds: UInt64
  /// Since the clock began, not since the start of the passes.
  private let isMoment: Bool

  static let poll = RunLimit(nanoseconds: 0)

  private init(nanoseconds: UInt64, isMoment: Bool = false) {
    self.nanoseconds = nanoseconds
    self.isMoment = isMoment
  }

  init(until moment: RunLoop.Instant) {
    self.init(nanoseconds: moment.nanoseconds, isMoment: moment != .distantFuture)
  }

  @inline(__always)
  init(_ duration: Duration?) {
    let limit = duration?.nanosecondsRoundedUp ?? Time.forever
    self.init(nanoseconds: limit > Self.longest ? Time.forever : limit)
  }

  /// No wait has an end by itself.
  @inline(__always)
  var isEndless: Bool { nanoseconds == Time.forever }

  /// Taken after the entry observers, like the deadline.
  @inline(__always)
  var isPoll: Bool { nanoseconds == 0 || (isMoment && nanoseconds <= Kernel.now()) }

  /// Of no use for a poll.
  @inline(__always)
  func deadline() -> UInt64 {
    if isMoment { return nanoseconds }
    return nanoseconds == 0 || nanoseconds == Time.forever ? Time.forever : Time.add(Kernel.now(), nanoseconds)
  }
}
