internal import CRunLoopCore
import RunLoopKit

extension RunLoop {
  /// Signals as events of a loop, with everything allowed in the callout that is allowed in any other.
  ///
  /// ```swift
  /// try RunLoop.Signal.block(.terminate, .hangup)  // first of all, in main
  /// let source = try RunLoop.SignalSource(.terminate, .hangup) { _, info in
  ///   if info.signal == .terminate { RunLoop.main.stop() } else { readConfiguration() }
  /// }
  /// try RunLoop.main.add(source, to: .common)
  /// ```
  ///
  /// **The mask.** A signal is received only if it is blocked in every thread: one thread that does not block it gets
  /// it the old way, handler or default action. So block it in `main` before the first thread is made
  /// (`RunLoop.Signal.block`); threads inherit that. When a source is added to a mode the threads of the process are
  /// looked at, and standard error is told of one that does not block its signals, once for each signal
  /// [RLK-SIGNAL-19]. A source blocks its signals in the thread that makes it, and no other. When the last source for a
  /// signal is invalidated or gone, and this happens in a thread where a source had blocked it, it is unblocked there;
  /// what is pending at that moment is dropped, since it was meant for a source [RLK-SIGNAL-7, RLK-SIGNAL-11]. Other
  /// threads' masks are never touched, and what was blocked before stays so [RLK-SIGNAL-8]. Handlers and dispositions
  /// are never changed.
  ///
  /// **Several sources.** Each source for a signal gets each signal, in whatever loops and modes they are: there is no
  /// winner [RLK-SIGNAL-4, RLK-SIGNAL-5]. Served are, one a pass, the signals in the order in which the process has
  /// read them, and for one signal the sources of a mode by their `order`, equal ones by age.
  ///
  /// **What counts.** Real-time signals queue with their values, lower numbers first (at most 65,536 for a source that
  /// is not served) [RLK-SIGNAL-9]. An ordinary signal that comes again before it is told is told once [RLK-SIGNAL-2].
  /// A signal from before the source, if it was blocked, is told; what is pending or untold when the source is
  /// invalidated is not. A signal that is directed at one thread is received by the loop of that thread only. Source:
  /// signalfd(2); libdispatch's signal source.
  public final class SignalSource: EventSource, EventService, @unchecked Sendable {
    @exclusivity(unchecked) final var body: Body
    private let receiver: SignalReceiver

    /// What it receives.
    public var signals: Set<Signal> { Set(receiver.signals.signals) }

    /// - Parameters:
    ///   - signals: What to receive; at least one.
    ///   - limit: How often it may be called; nil: always.
    ///   - order: Lower is called first, among the sources of a mode for one signal.
    ///   - body: Called on the thread of the loop that runs, with no lock held.
    /// - Throws: `.system`: `EINVAL` for an empty set, SIGKILL, SIGSTOP and what is no signal; `EMFILE`, `ENFILE`,
    ///   `ENOMEM`. The mask is as before then [RLK-SIGNAL-16].
    /// - Thread: Any; the calling thread's mask is changed.
    public convenience init(
      _ signals: Signal..., limit: RateLimit? = nil, order: Int = 0,
      _ body: @escaping @Sendable (SignalSource, SignalInfo) -> Void
    ) throws(RunLoopError) {
      try self.init(Set(signals), limit: limit, order: order, onlyHost: nil, unchecked: body)
    }

    /// The same for a set.
    public convenience init(
      _ signals: Set<Signal>, limit: RateLimit? = nil, order: Int = 0,
      _ body: @escaping @Sendable (SignalSource, SignalInfo) -> Void
    ) throws(RunLoopError) {
      try self.init(signals, limit: limit, order: order, onlyHost: nil, unchecked: body)
    }

    init(
      _ signals: Set<Signal>, limit: RateLimit?, order: Int, onlyHost: RunLoop?,
      unchecked body: @escaping (SignalSource, SignalInfo) -> Void
    ) throws(RunLoopError) {
      self.body = Body(body)
      receiver = try SignalReceiver(SignalSet(signals), order: order)
      try super.init(receiver.port.owned, limit: limit, order: order, onlyHost: onlyHost)
      receiver.source = self
    }

    package func dropClosure() {
      var released = Body { _, _ in }
      swap(&body, &released)
    }

    package func hasEnded() { receiver.end() }

    package func hasJoined() { SignalMasks.check(receiver.signals) }

    /// Serves the mode's turn: of its sources the one that comes first, which need not be this one.
    package func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
      receiver.read()
      var recorded = self
      for (receiver, waiting) in SignalHub.current.waitingReceivers {
        guard let source = receiver.source, mayServe(source), source.isMember(of: mode) else { continue }
        if source !== recorded {  // before it could leave unseen
          loop.endCallout()
          loop.beginCallout(source)
          recorded = source
        }
        guard source.isValid, source.isMember(of: mode), receiver.take(waiting) else { continue }
        __RUNLOOPKIT_IS_CALLING_OUT_TO_A_SIGNAL_SOURCE__(source, waiting.info)
        if source !== self { loop.hasCalled(source) }
        return true
      }
      return false
    }

    /// The turn of a source with a limit is its own.
    private func mayServe(_ other: SignalSource) -> Bool { other === self || (!hasLimit && !other.hasLimit) }

    deinit { receiver.end() }

    package var summary: String {
      let names = receiver.signals.signals.map(\.description).joined(separator: "|")
      return "<signal source\(labelText) order \(order), \(names), \(isValid ? "valid" : "invalid")>"
    }
  }
}

/// The closure, which a callout borrows: see Items/Closures.swift.
extension RunLoop.SignalSource {
  struct Body: ~Copyable {
    private let function: (RunLoop.SignalSource, RunLoop.SignalInfo) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.SignalSource, RunLoop.SignalInfo) -> Void) { self.function = function }

    @inline(__always)
    borrowing func call(_ item: RunLoop.SignalSource, _ info: RunLoop.SignalInfo) { function(item, info) }
  }
}
