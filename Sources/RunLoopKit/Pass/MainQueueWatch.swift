/// What the main loop knows of the main dispatch queue. [loop]
///
/// Each write to the queue's handle is an edge in the port set of every common mode, whoever runs. An edge stays in its
/// set until a fetch of that mode takes it. So a fetch tells whether the queue was signalled since the last one, and
/// what it has told is kept here, for the whole loop, until the queue is asked. Asking reads the handle: one system
/// call, which also finds what no fetch has told yet.
struct MainQueueWatch {
  /// A fetch has told of a signal, and the queue has not been asked since.
  private(set) var isSignalled = false
  /// The pass under way has not asked, as the queue is quiet.
  private var isPassedOver = false
  /// How often it was asked in vain since it was last signalled.
  private var silence: UInt32 = 0
  /// Passes that have neither asked nor fetched since the last that has.
  private var passedOver: UInt32 = 0
  /// Runs that have begun since it was signalled, and have not asked.
  private var runsBehind: UInt32 = 0

  /// It was asked after the last fetch of any mode: an edge that comes out of a batch now is older.
  private var isNewerThanFetch = false

  /// No fetch tells of it any more.
  var isLost = false

  /// From then on a pass leaves it to its fetch to tell.
  static let quietAfter: UInt32 = 16
  /// Of passes that serve the events of one fetch. More than of blocks that post blocks, whose passes look after that
  /// number by themselves.
  static let mostPassedOver = UInt32(OwnerState.mostSkippedPolls) + 1

  /// The pass need not look for it.
  var isLeftOut: Bool { isPassedOver && !isSignalled }

  /// A wait has fetched events of any mode.
  mutating func fetchCame() { isNewerThanFetch = false }

  /// Its edge comes out of a batch. The fetch may not have told of it, as the mode became a common one meanwhile.
  mutating func edgeCame() {
    if !isNewerThanFetch { signalCame() }
  }

  /// A fetch has told of it.
  mutating func signalCame() {
    isSignalled = true
    silence = 0
  }

  /// A fetch of all events there were was without it.
  mutating func hasNotCome() { passedOver = 0 }

  /// The next pass asks nothing by itself (rule 7, g).
  mutating func hasNoTurn() { isPassedOver = false }

  /// A run's first pass asks nothing by itself, unless so many of them have served others meanwhile. True if it asks.
  mutating func runBegins() -> Bool {
    hasNoTurn()
    guard isSignalled else { return false }
    runsBehind &+= 1
    return runsBehind > Self.mostPassedOver
  }

  /// Its turn (g). Asks the queue, unless it is quiet and its edge can be trusted: not where time is virtual, which
  /// costs no system calls, nor if the mode's observers are told of each wait (rule 13).
  mutating func takeTurn(isTrusted: Bool) -> Bool {
    let isQuiet = !isSignalled && silence >= Self.quietAfter
    isPassedOver = isTrusted && !isLost && isQuiet && passedOver < Self.mostPassedOver
    if isPassedOver {
      passedOver += 1
      return false
    }
    return take()
  }

  /// True if the queue was signalled since the last time it was asked.
  mutating func take() -> Bool {
    isSignalled = false
    isNewerThanFetch = true
    passedOver = 0
    runsBehind = 0
    let isReady = MainQueuePort.take()
    silence = isReady ? 0 : silence + 1
    return isReady
  }
}
