internal import CRunLoopCore
import RunLoopKit
internal import Synchronization

/// Warns of threads that do not block a signal, and so may take it from its sources.
///
/// It is a warning, not an error: the thread may belong to a library or be about to end, or the program may want the
/// thread to take the signal. Threads of libdispatch rarely cause it, because they block all signals but SIGPIPE,
/// SIGPROF and those of faults.
enum SignalMasks {
  private final class Reported: ProcessWideObject {
    let forkGeneration = Kernel.forkGeneration
    /// Signals that this process has reported.
    let signals = Atomic<UInt64>(0)
  }

  private static let reported = ProcessWide<Reported>()

  /// Checks all threads of the process, unless all of these signals were reported already.
  static func check(_ signals: SignalSet) {
    let reported = reported.current(Reported.init)
    var thread = rlc_thread_mask()
    let asked = signals.bits & ~reported.signals.load(ordering: .relaxed)
    guard asked != 0, rlc_signals_find_unblocked(asked, &thread) else { return }
    let new = thread.unblocked & ~reported.signals.bitwiseOr(thread.unblocked, ordering: .relaxed).oldValue
    guard new != 0 else { return }
    let found = SignalSet(bits: new).signals
    let names = found.map(\.description).joined(separator: ", ")
    Diagnosis.warn(
      "thread \(thread.thread_id) (\(name(of: thread))) does not block \(names): it may take what a source is "
        + "waiting for, and do what the signal does without one, which may end the process. Call RunLoop.Signal.block for "
        + "\(found.count == 1 ? "it" : "them") in main, before any thread is made. This is said once.")
  }

  private static func name(of thread: rlc_thread_mask) -> String {
    withUnsafeBytes(of: thread.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
