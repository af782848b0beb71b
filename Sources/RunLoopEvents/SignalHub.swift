internal import CRunLoopCore
import RunLoopKit
internal import Synchronization

/// All receivers of signals of this process share one hub.
final class SignalHub: ProcessWideObject, @unchecked Sendable {
  let lock = Lock()
  var forkGeneration: UInt32 { lock.forkGeneration }
  /// In the order of their creation. Guarded by `lock`, like all below.
  private var receivers: [SignalReceiver] = []
  private var lastSerial: UInt64 = 0

  private static let shared = ProcessWide<SignalHub>()

  static var current: SignalHub { shared.current(SignalHub.init) }

  // MARK: Masks

  /// Blocks the signals in the calling thread. The thread's record remembers those that were not blocked before.
  func claim(_ signals: SignalSet) throws(RunLoopError) {
    var changed: UInt64 = 0
    try RunLoopError.check(rlc_signals_block(signals.bits, &changed), "pthread_sigmask")
    if changed != 0 { ThreadRecord.current.claimedSignals |= changed }
  }

  /// Unblocks signals in the calling thread that no receiver needs any more, if a receiver that this thread has created
  /// has blocked them.
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

  /// Reads one signal and appends it to all receivers that want it. False if none is pending. It holds the lock from
  /// reading to appending, so that two loops that read at the same time keep the order.
  ///
  /// It leaves further signals in the kernel, which keeps their order, and lets sigqueue(3) fail when there are too
  /// many.
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

  /// The receivers with undelivered signals, each with its oldest signal. They are sorted by the age of that signal,
  /// then by `order`, then by the receiver's age.
  var waitingReceivers: [(receiver: SignalReceiver, waiting: SignalReceiver.Waiting)] {
    let found = lock.withLock { receivers.compactMap { receiver in receiver.oldestLocked.map { (receiver, $0) } } }
    return found.enumerated().sorted { a, b in
      let (one, other) = (a.element, b.element)
      return (one.1.serial, one.0.order, a.offset) < (other.1.serial, other.0.order, b.offset)
    }.map(\.element)
  }
}
