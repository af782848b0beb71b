internal import RunLoopLibc
internal import Synchronization

/// A run loop: one per thread, created on first use, ended with its thread [RLK-THREAD-1, RLK-END-7]. The object may
/// outlive the thread.
///
/// ```swift
/// let loop = RunLoop.current
/// try loop.add(RunLoop.Timer(after: .milliseconds(10)) { _ in loop.stop() })
/// print(try loop.run())  // prints stopped
/// ```
/// - Thread: Any, unless a declaration says "the loop's own". On a loop that has ended, or was inherited through
///   fork(2), calls that can throw throw `.loopEnded` or `.forked`. The others do nothing and return false, nil or
///   empty; `isEmpty` and `hasEnded` return true [RLK-END-10, RLK-FORK-1].
/// - Re-entry: Everything is allowed from every callout; no lock is held in user code.
/// - SeeAlso: `CFRunLoopRef`.
public final class RunLoop: @unchecked Sendable, CustomStringConvertible {
  /// Guards `state`. No thread holds two loops' locks at once. Locks of items are taken inside this one.
  let lock = Lock()
  private let statePlace: UnsafeMutablePointer<LoopState>
  private let ownerPlace: UnsafeMutablePointer<OwnerState>
  let wakes: Wakes
  let stops = Stops()
  /// 1 while the queue has a block, else 0. Read without the lock, so that a pass can skip an empty queue.
  let queuedBlocks = Atomic<Int>(0)
  /// The pthread_self(3) of the loop's thread. 0 until that thread asks for the loop, and after the thread's end.
  private let ownThread = Atomic<pthread_t>(0)
  let callouts = CalloutRecord()
  /// The value of `spinLimit`, in nanoseconds.
  let wantedSpin = Atomic<UInt64>(0)
  /// The address of the counters; 0 while nothing is counted.
  let activeCounters = Atomic<UInt>(0)
  /// The kernel for all of the loop's descriptors, waits and dates: the one that the loop's thread had when the loop
  /// was made, perhaps by another thread. Nil stands for the system's kernel.
  package let kernel: Kernel?
  private let ended = Atomic<Bool>(false)
  /// Identifies the process that made the loop.
  package let forkGeneration = Kernel.forkGeneration

  private static let lastSerial = Atomic<UInt64>(0)
  /// A number that no other loop of the process has or will have.
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
    if Diagnosis.reportsHints { beginWatching() }
  }

  deinit {
    ownerPlace.destroy()
    statePlace.destroy()
  }

  var state: LoopState {
    @inline(__always) unsafeAddress { UnsafePointer(statePlace) }
    @inline(__always) unsafeMutableAddress { statePlace }
  }

  var owner: OwnerState {
    @inline(__always) unsafeAddress { UnsafePointer(ownerPlace) }
    @inline(__always) unsafeMutableAddress { ownerPlace }
  }

  /// The state of the innermost run; its `isRunning` is false if the loop does not run. It is the first field of
  /// `owner`. - Thread: The loop's own.
  @inline(__always)
  var innermostRun: Activation { Activation(at: UnsafeMutableRawPointer(ownerPlace)) }

  /// The innermost run; nil if the loop does not run. - Thread: The loop's own.
  var activation: Activation? { innermostRun.isRunning ? innermostRun : nil }

  /// Returns a number that increases with each membership. Under the lock.
  @inline(__always)
  func nextStamp() -> UInt64 { state.nextStamp() }

  /// The calling thread's loop, made on first use.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// print(loop.isCurrent, loop === RunLoop.current)  // prints true true
  /// try loop.perform { print("on the loop's thread") }  // prints on the loop's thread
  /// try loop.run(for: .milliseconds(10))
  /// ```
  /// - Complexity: O(1), no system call after the first. - SeeAlso: `CFRunLoopGetCurrent`.
  @available(*, noasync, message: "a task has no thread: use one of yours, or a main without a top-level await")
  public static var current: RunLoop { ThreadRecord.current.currentLoop }

  /// The main thread's loop, on every thread [RLK-FORK-3].
  ///
  /// The loop ends with the main thread: an async `main` ends that thread when it first suspends, `dispatchMain()` at
  /// once. The loop then reports (`diagnostics`) how many blocks and members still wait in it, and `add` throws
  /// `.loopEnded`. It does not matter which thread has asked for the loop first, or when [RLK-END-14]. A source that is
  /// not signalled, a timer without a date and an observer do not count as waiting. If another thread has loaded the
  /// library by dlopen(3), the loop notices the end only if the main thread has asked for its loop before.
  ///
  /// ```swift
  /// try RunLoop.main.perform {  // from any thread
  ///   print(RunLoop.main.isCurrent)  // prints true
  ///   RunLoop.main.stop()
  /// }
  /// try RunLoop.main.run()
  /// ```
  /// - SeeAlso: `CFRunLoopGetMain`.
  public static var main: RunLoop { MainLoop.shared }

  /// True on the loop's own thread.
  public var isCurrent: Bool { isOwnThread && isInThisProcess }

  /// Like `isCurrent`, but also true for an inherited loop in a child of fork(2).
  private var isOwnThread: Bool {
    let own = ownThread.load(ordering: .relaxed)
    return own == pthread_self() || (own == 0 && isMain && becomesMainThreads())
  }

  /// If the calling thread is the main thread, makes the main loop its own. The thread may not have asked for it yet.
  @inline(never)
  private func becomesMainThreads() -> Bool {
    isUsable && MainThread.isCurrent && ThreadRecord.current.currentLoop === self
  }

  /// True if the calling thread is the loop's own. That thread retains the loop, so the loop outlives the call.
  var isHeldByCaller: Bool { ownThread.load(ordering: .relaxed) == pthread_self() }

  /// Makes the calling thread the loop's own.
  func beginThread() { ownThread.store(pthread_self(), ordering: .relaxed) }

  /// Forgets the loop's thread, since the system may give the thread's number to another thread.
  func endThread() { ownThread.store(0, ordering: .relaxed) }

  /// True once the loop's thread has ended.
  public var hasEnded: Bool { ended.load(ordering: .acquiring) }

  /// False in a child of fork(2) that inherited the loop: its locks and descriptors are the parent's.
  package var isInThisProcess: Bool { forkGeneration == Kernel.forkGeneration }

  var isUsable: Bool { isInThisProcess && !hasEnded }

  /// Decides in virtual time which thread runs next. If it is nil, the system decides.
  package var turns: (any TurnTaking)? { kernel?.turns }

  @inline(__always)
  func checkUsable() throws(RunLoopError) {
    guard isInThisProcess else { throw .forked }
    guard !hasEnded else { throw endedError }
  }

  /// `.loopEnded`. For the main loop the text names the usual reason.
  @inline(never)
  package var endedError: RunLoopError { isMain ? .mainLoopEnded : .loopEnded }

  @inline(__always)
  func checkOwner(_ call: String) throws(RunLoopError) {
    try checkUsable()
    guard isOwnThread else { throw .wrongThread(call: call) }
  }

  func markEnded() { ended.store(true, ordering: .sequentiallyConsistent) }
}
