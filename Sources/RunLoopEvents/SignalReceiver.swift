internal import CRunLoopCore
import RunLoopKit

/// A receiver of signals: its descriptors, and the signals that were read for it and not yet delivered.
///
/// Each receiver has its own signalfd, which wakes its loop. The kernel gives each signal to one reader only. So the
/// receiver that reads a signal passes it to all receivers of the process that want it, on any loop: see `SignalHub`.
final class SignalReceiver: @unchecked Sendable {
  let signals: SignalSet
  let port: EventPort
  let order: Int
  private let hub: SignalHub
  /// Nil for a child source, which only needs to know whether the signal has come. Set before `join`, because other
  /// loops read it after that.
  weak var source: RunLoop.SignalSource?

  /// Guarded by the hub's lock, like all below.
  private var waiting = Row<Waiting>()
  /// The standard signals in `waiting`, as bits.
  private var waitingStandard: UInt64 = 0
  private(set) var lostLocked = 0
  private var isPoked = false
  private var isFlagUp = false

  struct Waiting {
    /// Increases with each signal that the process reads.
    let serial: UInt64
    let info: RunLoop.SignalInfo
  }

  /// Blocks the signals in the calling thread, where they stay blocked while there is a receiver for them. This
  /// receiver gets signals after `join`.
  init(_ signals: SignalSet, order: Int) throws(RunLoopError) {
    self.signals = signals
    self.order = order
    hub = SignalHub.current
    port = try EventPort(inner: RunLoopError.checkCore(rlc_signal_fd_create(signals.bits), signals.refusal))
    try hub.claim(signals)  // last, so that a failure leaves the mask unchanged
  }

  /// Makes the hub pass this receiver its signals, whichever receiver of the process reads them.
  func join() { hub.add(self) }

  /// Called when the source is invalid or destroyed: drops its signals. Further calls have no effect.
  func detach() { hub.remove(self) }

  /// Reads one signal, for all receivers of the process. False if none is pending. Call it while `port.owned` is held.
  func read() -> Bool { hub.read(for: self) }

  /// How many real-time signals were read, but dropped for this receiver.
  var lost: Int { hub.lock.withLock { lostLocked } }

  /// Removes the signal; false if it is not the oldest one any more.
  func dequeue(_ waiting: Waiting) -> Bool { hub.lock.withLock { dequeueLocked(waiting) } }

  /// Makes the port ready without a signal.
  func poke() {
    hub.lock.withLock {
      isPoked = true
      showFlag()
    }
  }

  /// Reads one signal, drops those that wait, and makes the port not ready. Call it while `port.owned` is held. The
  /// kernel keeps at most one instance of a standard signal pending for the process, and one for the thread. An
  /// instance that is left makes the port ready again.
  func acknowledge() {
    _ = read()
    hub.lock.withLock {
      isPoked = false
      drop()
      showFlag()
    }
  }
}

// MARK: Under the hub's lock

extension SignalReceiver {
  /// At most this many signals wait for a receiver.
  private static let mostWaiting = 65_536

  var oldestLocked: Waiting? { waiting.isEmpty ? nil : waiting[0] }

  /// Appends a signal. A standard signal coalesces with one that waits already, as in the kernel. Returns false if this
  /// is the first signal that the receiver loses.
  func append(_ new: Waiting) -> Bool {
    if !new.info.signal.isRealtime {
      let bit = Self.bit(of: new.info.signal)
      if waitingStandard & bit != 0 { return true }
      waitingStandard |= bit
    } else if waiting.count >= Self.mostWaiting {
      lostLocked += 1
      return lostLocked > 1
    }
    waiting.append(new)
    showFlag()
    return true
  }

  private func dequeueLocked(_ wanted: Waiting) -> Bool {
    guard let oldest = oldestLocked, oldest.serial == wanted.serial else { return false }
    _ = waiting.takeFirst()
    waiting.trim()
    waitingStandard &= ~Self.bit(of: oldest.info.signal)
    showFlag()
    return true
  }

  private static func bit(of signal: RunLoop.Signal) -> UInt64 { 1 << UInt64(signal.rawValue - 1) }

  func drop() {
    waiting = Row()
    waitingStandard = 0
  }

  private func showFlag() {
    let isWanted = isPoked || !waiting.isEmpty
    guard isWanted != isFlagUp, port.owned.hold() else { return }
    port.setFlag(isWanted)
    isFlagUp = isWanted
    port.owned.release()
  }
}
