/// A pointer to the state of one run on a loop's stack. The innermost run's state lies in `OwnerState`, that of an
/// enclosing run in an `OuterRun`. No state lies on the stack, which an exception or longjmp(3) may leave.
/// - Thread: The loop's own.
struct Activation {
  private let place: UnsafeMutablePointer<State>

  struct State {
    /// The run's address on the stack; 0 if there is no run.
    var at: UInt = 0
    /// The run, or the host's wait, in which this run began. Nil if it began in neither.
    var outer: UnsafeMutablePointer<OuterRun>?
    /// The height of the thread's scopes before the run's entry observers.
    var scope = 0
    /// What ends the run besides a stop, its limit and an empty mode. The caller retains it until the run has ended.
    var awaited: Unmanaged<AwaitedEnd>?
    /// The item that the run serves, or has served last. The pass retains the item while the run serves it.
    var served: Unmanaged<RunLoop.Item>?
    /// Whether `served` is a descriptor source whose callout is on the stack.
    var serving = Serving.no
    /// True while the pass keeps open the descriptor that `served` owns.
    var isOwned = false
    var wakes = Wakes.OfRun.accepting
    /// Set before the first pass. If the mode becomes common later, only its next run serves the main queue.
    var servesMainQueue = false
    /// True if a perform that counts as a source has run since the last `takePerform`.
    var hasPerformed = false
    var sleepsInHost = false
  }

  enum Serving: UInt8 {
    case no
    /// The callout is on the stack, and nested runs do not serve the source.
    case source
    /// A nested run has muted the source in the port set of that run's mode. The end of the callout unmutes it.
    case muted
  }

  init(at place: UnsafeMutableRawPointer) { self.place = place.assumingMemoryBound(to: State.self) }

  var state: State {
    unsafeAddress { UnsafePointer(place) }
    nonmutating unsafeMutableAddress { place }
  }

  var isRunning: Bool { state.at != 0 }

  /// Sets the fields of a run that begins. The end of the last run, or `beginNesting`, has reset the others.
  func begin(at place: UInt, scope: Int, awaiting end: AwaitedEnd?) {
    state.at = place
    state.scope = scope
    state.awaited = end.map { Unmanaged.passUnretained($0) }
    state.wakes = .accepting
  }

  /// The run in whose callout this one began; nil if there is none, or if this one began in a host's wait.
  var parent: Activation? { state.outer == nil ? nil : outerRun }

  @inline(never)
  private var outerRun: Activation? { state.outer.flatMap { $0.run } }

  var servesMainQueue: Bool {
    get { state.servesMainQueue }
    nonmutating set { state.servesMainQueue = newValue }
  }

  /// The state of the run's wakes. `begin` sets it; then only `Wakes` changes it.
  var wakes: Wakes.OfRun {
    get { state.wakes }
    nonmutating _modify { yield &state.wakes }
  }

  // MARK: What ends the run

  /// True if the awaited end has come. Calls no user code.
  var hasAnswer: Bool { state.awaited.map { $0.takeUnretainedValue().isOver } ?? false }

  var awaitsCondition: Bool { state.awaited.map { $0.takeUnretainedValue().isCondition } ?? false }

  /// Returns what `hasAnswer` returns, but first evaluates the condition, if there is one. For the end of a pass.
  func checkForAnswer() -> Bool { state.awaited != nil && checkAwaited() }

  @inline(never)
  private func checkAwaited() -> Bool { state.awaited.map { $0.takeUnretainedValue().check() } ?? false }

  /// Called when a stop has reached the run. True if the stop ends it.
  @inline(never)
  func isStopped() -> Bool { state.awaited.map { $0.takeUnretainedValue().isStopped() } ?? true }

  // MARK: Performs that count as a source

  func notePerform() { state.hasPerformed = true }

  /// True if a perform that counts as a source has run since the last call.
  func takePerform() -> Bool {
    guard state.hasPerformed else { return false }
    state.hasPerformed = false
    return true
  }

  // MARK: The descriptor source that the run serves

  var servedSource: RunLoop.FileDescriptorSource? { state.servedSource }

  func serves(_ source: RunLoop.FileDescriptorSource) -> Bool { state.servedSource === source }

  /// The caller retains the source until `endServing`.
  func beginServing(_ source: RunLoop.FileDescriptorSource) {
    state.served = Unmanaged.passUnretained(source)
    state.serving = .source
  }

  /// Ends the serving of the source. Does nothing and returns false in two cases: the source's callout has begun a run
  /// that was left, or a run or a host's wait inside the callout has muted the source.
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
    serving == .no ? nil : served?.takeUnretainedValue() as? RunLoop.FileDescriptorSource
  }

  var owned: RunLoop.Item? { isOwned ? served?.takeUnretainedValue() : nil }
}
