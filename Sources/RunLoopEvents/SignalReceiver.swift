internal import CRunLoopCore
import RunLoopKit

/// One receiver of signals: those that were read for it and not delivered yet, and its descriptors.
///
/// signalfd(2) gives each signal to one reader only. So each receiver has a signalfd of its own, which wakes it, and
/// the one that reads passes the signals to all receivers of the process that want them, on any loop: `SignalHub`.
final class SignalReceiver: @unchecked Sendable {
  let signals: SignalSet
  let port: EventPort
  let order: Int
  private let hub: SignalHub
  /// Nil for a child source, which asks nothing but "was there one?".
  weak var source: RunLoop.SignalSource?

  /// Guarded by the hub's lock, like all below.
  @exclusivity(unchecked) private var waiting = Row<Waiting>()
  /// Which standard signals are among them.
  private var waitingStandard: UInt64 = 0
  private(set) var lostLocked = 0
  private var isPoked = false
  private var isFlagUp = false

  struct Waiting {
    /// Grows with each signal that is read in the process.
    let serial: UInt64
    let info: RunLoop.SignalInfo
  }

  /// Blocks the signals in the calling thread, and keeps them so while there is a receiver.
  init(_ signals: SignalSet, order: Int) throws(RunLoopError) {
    self.signals = signals
    self.order = order
    hub = SignalHub.current
    port = try EventPort(inner: RunLoopError.checkCore(rlc_signal_fd_create(signals.bits), signals.refusal))
    try hub.claim(signals)  // last: what fails leaves the mask alone
    hub.add(self)
  }

  /// The source is invalid or gone: nothing is read for it any more, what has been is dropped. Again: nothing.
  func detach() { hub.remove(self) }

  /// Reads one signal, for all receivers of the process; false if none is pending. While the port is held.
  func read() -> Bool { hub.read(for: self) }

  /// How many real-time signals were read for others and not kept for this one.
  var lost: Int { hub.lock.withLock { lostLocked } }

  /// Takes the signal; false if it is not the oldest one any more.
  func dequeue(_ waiting: Waiting) -> Bool { hub.lock.withLock { dequeueLocked(waiting) } }

  /// Makes the port ready without a signal.
  func poke() {
    hub.lock.withLock {
      isPoked = true
      showFlag()
    }
  }

  /// Takes whatever has made the port ready. While the port is held. Of one standard signal not more than one is
  /// pending, and one for the thread, which makes the port ready again.
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
  /// What may wait for a receiver while others of the same signal are called.
  private static let mostWaiting = 65_536

  var oldestLocked: Waiting? { waiting.isEmpty ? nil : waiting[0] }

  /// An ordinary signal that waits already counts once, as in the kernel. False if it is the first signal that is lost.
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
