internal import CRunLoopCore
import RunLoopKit
internal import Synchronization

/// What the receivers of signals of one process share.
final class SignalHub: ProcessWideObject, @unchecked Sendable {
  let lock = Lock()
  var forkGeneration: UInt32 { lock.forkGeneration }
  /// In the order of making. Guarded by `lock`, like all below.
  private var receivers: [SignalReceiver] = []
  private var lastSerial: UInt64 = 0

  private static let shared = ProcessWide<SignalHub>()

  static var current: SignalHub { shared.current(SignalHub.init) }

  // MARK: Masks

  /// Blocks the signals in the calling thread, which remembers those that were not blocked before.
  func claim(_ signals: SignalSet) throws(RunLoopError) {
    var changed: UInt64 = 0
    try RunLoopError.check(rlc_signals_block(signals.bits, &changed), "pthread_sigmask")
    if changed != 0 { ThreadRecord.current.claimedSignals |= changed }
  }

  /// In the calling thread, and only what was blocked by a receiver that was made there.
  private func unblockUnused(among signals: UInt64) {
    guard let thread = ThreadRecord.existing else { return }
    var unused = thread.claimedSignals & signals
    for receiver in receivers { unused &= ~receiver.signals.bits }
    guard unused != 0 else { return }
    thread.claimedSignals &= ~unused
    rlc_signals_unblock(unused)
  }

  // MARK: Receivers

  func add(_ receiver: SignalReceiver) { lock.withLock { receivers.append(receiver) } }

  func remove(_ receiver: SignalReceiver) {
    guard lock.forkGeneration == Kernel.forkGeneration else { return }
    lock.withLock {
      guard let index = receivers.firstIndex(where: { $0 === receiver }) else { return }
      receivers.remove(at: index)
      receiver.drop()
      unblockUnused(among: receiver.signals.bits)
    }
  }

  /// Reads one signal and gives it to all who want it; false if none is pending. In one section, so that two loops
  /// which read at the same time do not change the order.
  ///
  /// No more than one: the kernel keeps the others in order, tells their sender when there are too many, and takes the
  /// same time for each.
  func read(for receiver: SignalReceiver) -> Bool {
    var info = rlc_signal_info()
    let losers: [SignalReceiver]? = lock.withLock {
      guard rlc_signal_fd_take(receiver.port.inner, &info) > 0 else { return nil }
      lastSerial += 1
      let waiting = SignalReceiver.Waiting(serial: lastSerial, info: RunLoop.SignalInfo(info))
      return receivers.filter { $0.signals.contains(waiting.info.signal) && !$0.append(waiting) }
    }
    for loser in losers ?? [] { loser.source?.reportLoss(of: RunLoop.Signal(rawValue: info.signal)) }
    return losers != nil
  }

  /// The receivers of sources that have something to tell: the oldest signal first, then by order, then by age.
  var waitingReceivers: [(receiver: SignalReceiver, waiting: SignalReceiver.Waiting)] {
    let found = lock.withLock { receivers.compactMap { receiver in receiver.oldestLocked.map { (receiver, $0) } } }
    return found.enumerated().sorted { a, b in
      let (one, other) = (a.element, b.element)
      return (one.1.serial, one.0.order, a.offset) < (other.1.serial, other.0.order, b.offset)
    }.map(\.element)
  }
}
