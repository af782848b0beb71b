internal import RunLoopLibc
internal import Synchronization

/// A run loop: one per thread, created on first use, ended with its thread [RLK-THREAD-1, RLK-END-7]. The object may
/// outlive the thread.
///
/// - Thread: Any, unless a declaration says "the loop's own". A loop that has ended, or was inherited through fork(2):
///   calls that can throw throw `.loopEnded` or `.forked`, the others do nothing and answer false, nil or empty;
///   `isEmpty` and `hasEnded` answer true [RLK-END-10, RLK-FORK-1].
/// - Re-entry: Everything is allowed from every callout; no lock is held in user code.
/// - SeeAlso: `CFRunLoopRef`.
public final class RunLoop: @unchecked Sendable, CustomStringConvertible {
  /// Guards `state`. Never two loops' locks at once; items' locks are inside it.
  let lock = Lock()
  private let statePlace: UnsafeMutablePointer<LoopState>
  private let ownerPlace: UnsafeMutablePointer<OwnerState>
  let wakes: Wakes
  let stops = Stops()
  /// 1 while a block waits, in whatever modes, else 0; read without the lock, to pass by an empty queue.
  let queuedBlocks = Atomic<Int>(0)
  /// Its thread, as pthread_self(3) has it there; 0 before it was asked for on its thread, and after the thread's end.
  private let ownThread = Atomic<pthread_t>(0)
  let callouts = CalloutRecord()
  /// What `spinLimit` asks for, in nanoseconds.
  let wantedSpin = Atomic<UInt64>(0)
  /// The address of what counts; 0 while nothing is counted.
  let activeCounters = Atomic<UInt>(0)
  /// Of all its descriptors, waits and dates; nil: the system's. That of its thread when it was made.
  package let kernel: Kernel?
  private let ended = Atomic<Bool>(false)
  /// The process that made it.
  package let forkGeneration = Kernel.forkGeneration

  private static let lastSerial = Atomic<UInt64>(0)
  /// No other loop's, ever.
  package let serial = RunLoop.lastSerial.add(1, ordering: .relaxed).newValue

  /// True for the loop of the process's first thread.
  public let isMain: Bool

  init(isMain: Bool, _ kernel: Kernel?) {
    self.isMain = isMain
    self.kernel = kernel
    wakes = Wakes(kernel)
    statePlace = .make(LoopState())
    ownerPlace = .make(OwnerState())
    if isMain { state.commonNames.insert(.tracking) }
  }

  deinit {
    ownerPlace.destroy()
    statePlace.destroy()
  }

  /// What any thread may need: under the lock.
  var state: LoopState {
    @inline(__always) unsafeAddress { UnsafePointer(statePlace) }
    @inline(__always) unsafeMutableAddress { statePlace }
  }

  /// What its own thread alone touches. [loop]
  var owner: OwnerState {
    @inline(__always) unsafeAddress { UnsafePointer(ownerPlace) }
    @inline(__always) unsafeMutableAddress { ownerPlace }
  }

  /// How `owner` begins. [loop]
  @inline(__always)
  var innermostRun: Activation { Activation(at: UnsafeMutableRawPointer(ownerPlace)) }

  /// The innermost run. [loop]
  @inline(__always)
  var activation: Activation? { innermostRun.isRunning ? innermostRun : nil }

  /// A number that grows with every membership.
  @inline(__always)
  func nextStamp() -> UInt64 { state.nextStamp() }

  /// The calling thread's loop, made on first use.
  ///
  /// - Complexity: O(1), no system call after the first. - SeeAlso: `CFRunLoopGetCurrent`.
  @available(*, noasync, message: "a task has no thread: call it from a synchronous main or a thread of your own")
  public static var current: RunLoop { ThreadRecord.current.currentLoop }

  /// The main thread's loop, on every thread [RLK-FORK-3].
  ///
  /// An async `main` ends the main thread when it first suspends, `dispatchMain()` at once, and the loop ends with it:
  /// the loop reports on standard error how many blocks and members wait in it then, and `add` throws `.loopEnded`,
  /// whichever thread has asked for the loop first, and when [RLK-END-14]. A source that is not signalled, a timer
  /// without a date and an observer wait for nothing. That end cannot be noticed if another thread has loaded the
  /// library by dlopen(3): there the main thread must have asked for its loop.
  /// - SeeAlso: `CFRunLoopGetMain`.
  public static var main: RunLoop { MainLoop.shared }

  /// True on the loop's own thread.
  public var isCurrent: Bool { isOwnThread && isInThisProcess }

  /// In a child of fork(2) also of a loop that it inherited.
  @inline(__always)
  private var isOwnThread: Bool {
    let own = ownThread.load(ordering: .relaxed)
    return own == pthread_self() || (own == 0 && isMain && becomesMainThreads())
  }

  /// The main loop, which has not been asked for as `current` on its thread yet: true on that thread.
  @inline(never)
  private func becomesMainThreads() -> Bool {
    isUsable && MainThread.isCurrent && ThreadRecord.current.currentLoop === self
  }

  /// Its own thread is the calling one, which holds it.
  @inline(__always)
  var isHeldByCaller: Bool { ownThread.load(ordering: .relaxed) == pthread_self() }

  /// The loop becomes the calling thread's.
  func beginThread() { ownThread.store(pthread_self(), ordering: .relaxed) }

  /// The thread's number may be another one's after this.
  func endThread() { ownThread.store(0, ordering: .relaxed) }

  /// True once the loop's thread has ended.
  public var hasEnded: Bool { ended.load(ordering: .acquiring) }

  /// False in a child of fork(2) that inherited the loop: its locks and descriptors are the parent's.
  package var isInThisProcess: Bool { forkGeneration == Kernel.forkGeneration }

  var isUsable: Bool { isInThisProcess && !hasEnded }

  /// Who decides about the turns of its thread; nil: the system.
  package var turns: (any TurnTaking)? { kernel?.turns }

  @inline(__always)
  func checkUsable() throws(RunLoopError) {
    guard isInThisProcess else { throw .forked }
    guard !hasEnded else { throw endedError }
  }

  /// `.loopEnded`; of the main loop with the usual reason.
  @inline(never)
  package var endedError: RunLoopError { isMain ? .mainLoopEnded : .loopEnded }

  @inline(__always)
  func checkOwner(_ call: String) throws(RunLoopError) {
    try checkUsable()
    guard isOwnThread else { throw .wrongThread(call: call) }
  }

  func markEnded() { ended.store(true, ordering: .sequentiallyConsistent) }
}
