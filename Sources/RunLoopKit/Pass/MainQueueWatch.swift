/// The main loop's knowledge of the main dispatch queue. - Thread: The loop's own.
///
/// Each write to the queue's handle makes an edge in the port set of every common mode. An edge stays in its set until
/// a fetch of that mode takes it. So a fetch shows whether the queue was signalled since the mode's last fetch. The
/// loop remembers here what fetches have shown, until it asks the queue. To ask is to read the handle by one system
/// call, which also finds signals that no fetch has shown yet.
struct MainQueueWatch {
  /// A fetch has shown a signal, and the loop has not asked since.
  private(set) var isSignalled = false
  /// The current pass has not asked, because the queue is quiet.
  private var isPassedOver = false
  /// How often the loop has asked in vain since the last signal.
  private var silence: UInt32 = 0
  /// How many passes in a row have neither asked nor fetched all events that there were.
  private var passedOver: UInt32 = 0
  /// How many runs in a row have begun since the signal without asking.
  private var runsBehind: UInt32 = 0

  /// The loop has asked after the last fetch of any mode. An edge that it takes out of a batch now came before it
  /// asked.
  private var isNewerThanFetch = false

  /// Other code has closed the handle, and no fetch shows signals any more.
  var isLost = false

  /// When the loop has asked this many times in vain, the queue is quiet: passes stop asking, and rely on their
  /// fetches.
  static let quietAfter: UInt32 = 16
  /// This many passes in a row may serve events of one fetch without asking. The limit is more than `mostSkippedPolls`,
  /// so passes that only run blocks make a fetch before the limit makes them ask.
  static let mostPassedOver = UInt32(OwnerState.mostSkippedPolls) + 1

  /// The current pass need not poll for the queue.
  var isLeftOut: Bool { isPassedOver && !isSignalled }

  /// Called when a wait has fetched events of any mode.
  mutating func fetchCame() { isNewerThanFetch = false }

  /// Called when an edge was taken out of a batch. The fetch may not have shown it, because another thread was just
  /// making the mode common: the set watched the handle already, and the token was not stored yet.
  mutating func edgeCame() {
    if !isNewerThanFetch { signalCame() }
  }

  /// Called when a fetch has shown a signal.
  mutating func signalCame() {
    isSignalled = true
    silence = 0
  }

  /// Called when a fetch has returned all events that there were, and none was the queue's.
  mutating func hasNotCome() { passedOver = 0 }

  /// Called when the next pass skips the queue's turn (rule 7, g), and therefore has to poll for the queue.
  mutating func hasNoTurn() { isPassedOver = false }

  /// Called when a run begins. True if the run's first pass asks. Usually it does not, but it does if many runs in a
  /// row have begun since the signal without asking.
  mutating func runBegins() -> Bool {
    hasNoTurn()
    guard isSignalled else { return false }
    runsBehind &+= 1
    return runsBehind > Self.mostPassedOver
  }

  /// The queue's turn (g). Asks, unless the queue is quiet and its edge can be trusted. True if the queue was
  /// signalled.
  /// - Parameter isTrusted: False in virtual time, where asking costs no system call, and if the mode's observers are
  ///   notified of each wait (rule 13).
  mutating func takeTurn(isTrusted: Bool) -> Bool {
    let isQuiet = !isSignalled && silence >= Self.quietAfter
    isPassedOver = isTrusted && !isLost && isQuiet && passedOver < Self.mostPassedOver
    if isPassedOver {
      passedOver += 1
      return false
    }
    return take()
  }

  /// Asks the queue. True if the queue was signalled since the loop last asked.
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
