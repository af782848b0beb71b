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
  private var waiting: ContiguousArray<Waiting> = []
  private var firstWaiting = 0
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

  /// Reads what is pending, for all receivers of the process. While the port is held.
  func read() { hub.read(for: self) }

  /// Takes the signal; false if it is not the oldest one any more.
  func dequeue(_ waiting: Waiting) -> Bool { hub.lock.withLock { dequeueLocked(waiting) } }

  /// Makes the port ready without a signal.
  func poke() {
    hub.lock.withLock {
      isPoked = true
      showFlag()
    }
  }

  /// Takes whatever has made the port ready. While the port is held.
  func acknowledge() {
    read()
    hub.lock.withLock {
      isPoked = false
      drop()
      showFlag()
    }
  }
}

// MARK: Under the hub's lock

extension SignalReceiver {
  /// What may wait for a receiver whose loop does not serve it; further real-time signals are lost for it.
  private static let mostWaiting = 65_536

  var oldestLocked: Waiting? { firstWaiting < waiting.count ? waiting[firstWaiting] : nil }

  /// An ordinary signal that waits already counts once, as in the kernel.
  func append(_ new: Waiting) {
    let old = waiting[firstWaiting...]
    if !new.info.signal.isRealtime, old.contains(where: { $0.info.signal == new.info.signal }) { return }
    guard old.count < Self.mostWaiting else { return }
    waiting.append(new)
    showFlag()
  }

  private func dequeueLocked(_ wanted: Waiting) -> Bool {
    guard let oldest = oldestLocked, oldest.serial == wanted.serial else { return false }
    firstWaiting += 1
    if firstWaiting == waiting.count {
      drop()
    } else if firstWaiting >= 64, firstWaiting * 2 >= waiting.count {  // never empty, it would grow for ever
      waiting.removeFirst(firstWaiting)
      firstWaiting = 0
    }
    showFlag()
    return true
  }

  func drop() {
    waiting.removeAll(keepingCapacity: waiting.count <= 64)
    firstWaiting = 0
  }

  private func showFlag() {
    let isWanted = isPoked || firstWaiting < waiting.count
    guard isWanted != isFlagUp, port.owned.hold() else { return }
    port.setFlag(isWanted)
    isFlagUp = isWanted
    port.owned.release()
  }
}
