/// One run on a loop's stack: the way to what is kept of it. The loop has that of the innermost one (`OwnerState`), and
/// `OuterRun` that of those around it. It is not on the stack, which an exception or longjmp(3) may leave. Owner only.
struct Activation {
  private let place: UnsafeMutablePointer<State>

  struct State {
    /// Where it lies on the stack; 0: no run is there.
    var at: UInt = 0
    /// Inside of which it was begun: another run, or a host's wait.
    var outer: UnsafeMutablePointer<OuterRun>?
    /// Where its scope begins in the thread's scopes: before its entry observers.
    var scope = 0
    /// What the run ends for. Held by the caller until the run has ended.
    var awaited: Unmanaged<AwaitedEnd>?
    /// The item that it serves, or has served last. Retained by the pass meanwhile.
    var served: Unmanaged<RunLoop.Item>?
    /// Whether that is a readiness source whose callout is on the stack.
    var serving = Serving.no
    /// It holds a descriptor of its own for that.
    var isOwned = false
    var wakes = Wakes.OfRun.accepting
    /// Decided before the first pass: a mode that becomes common later serves the main queue from its next run on.
    var servesMainQueue = false
    /// A perform that counts as a source has run among its blocks, since the last `takePerform`.
    var hasPerformed = false
    /// The host iterates for its sleep.
    var sleepsInHost = false
  }

  enum Serving: UInt8 {
    case no
    /// Nested runs leave it out.
    case source
    /// A nested run has left it out of its set: it comes back when its callout ends.
    case muted
  }

  /// Of a state that begins there.
  @inline(__always)
  init(at place: UnsafeMutableRawPointer) { self.place = place.assumingMemoryBound(to: State.self) }

  var state: State {
    @inline(__always) unsafeAddress { UnsafePointer(place) }
    @inline(__always) nonmutating unsafeMutableAddress { place }
  }

  @inline(__always)
  var isRunning: Bool { state.at != 0 }

  /// What is not set here was left so by the run that ended last, or by `OuterRun.begin`.
  @inline(__always)
  func begin(at place: UInt, scope: Int, awaiting end: AwaitedEnd?) {
    state.at = place
    state.scope = scope
    state.awaited = end.map { Unmanaged.passUnretained($0) }
    state.wakes = .accepting
  }

  /// The run in one of whose callouts it was begun.
  @inline(__always)
  var parent: Activation? { state.outer == nil ? nil : outerRun }

  @inline(never)
  private var outerRun: Activation? { state.outer.flatMap { $0.run } }

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
  func checkForAnswer() -> Bool { state.awaited != nil && checkAwaited() }

  @inline(never)
  private func checkAwaited() -> Bool { state.awaited.map { $0.takeUnretainedValue().check() } ?? false }

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

  var servedSource: RunLoop.FileDescriptorSource? { state.servedSource }

  func serves(_ source: RunLoop.FileDescriptorSource) -> Bool { state.servedSource === source }

  /// The caller retains the source until `endServing`.
  @inline(__always)
  func beginServing(_ source: RunLoop.FileDescriptorSource) {
    state.served = Unmanaged.passUnretained(source)
    state.serving = .source
  }

  /// False if its callout has begun runs, and nothing is done.
  @inline(__always)
  func endsServing(_ source: RunLoop.FileDescriptorSource) -> Bool {
    guard state.served?.toOpaque() == Unmanaged.passUnretained(source).toOpaque(), state.serving == .source else {
      return false
    }
    state.serving = .no
    return true
  }

  func noteMuted() { state.serving = .muted }
}

extension Activation.State {
  var servedSource: RunLoop.FileDescriptorSource? {
    // By `beginServing`.
    guard serving != .no else { return nil }
    return served.map { unsafeDowncast($0.takeUnretainedValue(), to: RunLoop.FileDescriptorSource.self) }
  }

  var owned: RunLoop.Item? { isOwned ? served?.takeUnretainedValue() : nil }
}
