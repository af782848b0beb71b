internal import CRunLoopCore
import RunLoopKit
internal import Synchronization

extension RunLoop {
  /// Calls a closure on the loop's thread for each signal that the process receives. The closure may do what any
  /// callout may.
  ///
  /// ```swift
  /// import Glibc
  /// try RunLoop.Signal.block(.terminate, .hangup)  // first of all, in main
  /// let source = try RunLoop.SignalSource(.terminate, .hangup) { _, info in
  ///   print(info.signal == .hangup)  // prints true
  ///   RunLoop.main.stop()
  /// }
  /// try RunLoop.main.add(source, to: .common)
  /// kill(getpid(), SIGHUP)  // mostly another process does that
  /// try RunLoop.main.run()
  /// ```
  ///
  /// **The mask.** A source receives a signal only if every thread blocks it. If a thread does not, the kernel calls
  /// the handler or takes the default action in that thread. So block signals in `main` before the first thread is
  /// created (`RunLoop.Signal.block`); threads inherit the mask. When a source is first added to a mode, the loop
  /// checks the threads of the process. It reports (`RunLoop.diagnostics`) a thread that does not block the source's
  /// signals, once for each signal [RLK-SIGNAL-19]. A source blocks its signals in the thread that creates it, and in
  /// no other. If a source has blocked a signal in a thread, and the last source for that signal is invalidated or
  /// destroyed in the same thread, that last source unblocks the signal there. If the signal is still pending, the
  /// source discards it first, because it was meant for a source [RLK-SIGNAL-7, RLK-SIGNAL-11]. Sources never change
  /// the masks of other threads. They never unblock signals that the program has blocked before, or later by
  /// `RunLoop.Signal.block` [RLK-SIGNAL-8]. They never change handlers or dispositions.
  ///
  /// **Several sources.** Each source for a signal gets it each time, in whatever loops and modes the sources are
  /// [RLK-SIGNAL-4, RLK-SIGNAL-5]. A loop makes one callout a pass. Signals come in the order in which the process has
  /// read them. For one signal the loop calls the sources of a mode by their `order`; of equal orders, older sources
  /// first.
  ///
  /// **What is delivered.** Real-time signals queue with their values, lower numbers first [RLK-SIGNAL-9]. Pending
  /// standard signals coalesce [RLK-SIGNAL-2]. A blocked signal that is pending when the source is created is
  /// delivered. Signals that are undelivered when the source is invalidated are dropped. A signal that is sent to one
  /// thread reaches the loop of that thread only. Source: signalfd(2); libdispatch's signal source.
  ///
  /// A source reads a signal only when it is about to be called. So real-time signals wait in the kernel, and each is
  /// delivered; their number does not slow a delivery down. When the kernel keeps no more (`RLIMIT_SIGPENDING`),
  /// sigqueue(3) fails for the sender [RLK-SIGNAL-22]. There is one exception: a signal that one source has read waits
  /// in the process for the other sources of that signal, such as those in modes that do not run. Up to 65,536 wait for
  /// each source; further real-time signals are lost for that source, which `lostSignals` counts [RLK-SIGNAL-23].
  public final class SignalSource: EventSource, EventService, @unchecked Sendable {
    @exclusivity(unchecked) final var body: Body
    private let receiver: SignalReceiver
    private let isChecked = Atomic<Bool>(false)

    /// Which signals the source receives.
    public var signals: Set<Signal> { Set(receiver.signals.signals) }

    /// How many real-time signals the source has lost, because 65,536 were waiting for it while another source for the
    /// same signal was called. The first loss is reported (`RunLoop.diagnostics`). - Thread: Any.
    public var lostSignals: Int { receiver.lost }

    /// - Parameters:
    ///   - signals: Which signals to receive; at least one.
    ///   - limit: How often the loop may call the source; nil for no limit.
    ///   - order: Among the sources of a mode for one signal, those of a lower order are called first.
    ///   - body: Called on the thread of the loop that runs, with no lock held.
    /// - Throws: A `RunLoopError.system`: `EINVAL` for an empty set, SIGKILL, SIGSTOP and a number that is no signal;
    ///   `EMFILE`, `ENFILE`, `ENOMEM`. After an error the mask is unchanged [RLK-SIGNAL-16].
    /// - Thread: Any; the calling thread's mask is changed.
    public convenience init(
      _ signals: Signal..., limit: RateLimit? = nil, order: Int = 0,
      _ body: @escaping @Sendable (SignalSource, SignalInfo) -> Void
    ) throws {
      try self.init(Set(signals), limit: limit, order: order, onlyLoop: nil, unchecked: body)
    }

    /// As `init(_:limit:order:_:)` with a list, for a set.
    public convenience init(
      _ signals: Set<Signal>, limit: RateLimit? = nil, order: Int = 0,
      _ body: @escaping @Sendable (SignalSource, SignalInfo) -> Void
    ) throws {
      try self.init(signals, limit: limit, order: order, onlyLoop: nil, unchecked: body)
    }

    init(
      _ signals: Set<Signal>, limit: RateLimit?, order: Int, onlyLoop: RunLoop?,
      unchecked body: @escaping (SignalSource, SignalInfo) -> Void
    ) throws {
      self.body = Body(body)
      receiver = try SignalReceiver(SignalSet(signals), order: order)
      try super.init(receiver.port.owned, limit: limit, order: order, onlyLoop: onlyLoop)
      receiver.source = self
      receiver.join()
    }

    package func dropClosure() {
      var released = Body { _, _ in }
      swap(&body, &released)
    }

    package func hasEnded() { receiver.detach() }

    /// Checks only the first time, because a sequence adds its source for each element.
    package func hasJoined() {
      if !isChecked.exchange(true, ordering: .relaxed) { SignalMasks.check(receiver.signals) }
    }

    /// Calls the mode's source whose signal is the oldest, which need not be this one.
    package func takeEvent(ready: UInt32, in mode: ModePointer, of loop: RunLoop) -> Bool {
      takeWaiting(in: mode, of: loop) || (receiver.read() && takeWaiting(in: mode, of: loop))
    }

    private func takeWaiting(in mode: ModePointer, of loop: RunLoop) -> Bool {
      var recorded = self
      for (receiver, waiting) in SignalHub.current.waitingReceivers {
        guard let source = receiver.source, mayServe(source), source.isMember(of: mode) else { continue }
        if source !== recorded {  // recorded before the checks, so that a removal waits for the callout
          loop.endCallout()
          loop.beginCallout(source)
          recorded = source
        }
        guard source.isValid, source.isMember(of: mode), receiver.dequeue(waiting) else { continue }
        __RUNLOOPKIT_IS_CALLING_OUT_TO_A_SIGNAL_SOURCE__(source, waiting.info)
        if source !== self { loop.hasCalled(source) }
        return true
      }
      return false
    }

    /// True if this source may serve the other one. A source with a rate limit serves only itself, and no other source
    /// serves it.
    private func mayServe(_ other: SignalSource) -> Bool { other === self || (!hasLimit && !other.hasLimit) }

    deinit { receiver.detach() }

    /// Called once for each source.
    func reportLoss(of signal: Signal) {
      Diagnosis.warn(
        "a signal source\(labelText) loses signals (the first is \(signal)): others for the same signal are "
          + "called, and 65,536 wait for this one. See SignalSource.lostSignals. This is said once.")
    }

    package var summary: String {
      let names = receiver.signals.signals.map(\.description).joined(separator: "|")
      return "<signal source\(labelText) order \(order), \(names), \(isValid ? "valid" : "invalid")>"
    }
  }
}

/// The source's closure, which a callout borrows: see Items/Callouts.swift.
extension RunLoop.SignalSource {
  struct Body: ~Copyable {
    private let function: (RunLoop.SignalSource, RunLoop.SignalInfo) -> Void

    @inline(never)  // inlined into an initialiser that throws, the compiler (6.3) loses a reference
    init(_ function: @escaping (RunLoop.SignalSource, RunLoop.SignalInfo) -> Void) { self.function = function }

    borrowing func call(_ item: RunLoop.SignalSource, _ info: RunLoop.SignalInfo) { function(item, info) }
  }
}
