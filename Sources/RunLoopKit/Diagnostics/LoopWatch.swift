internal import RunLoopLibc

/// What a loop remembers for the hints that only its own thread can find. A loop has one if hints were on when the loop
/// was made. The calls stand where the loop counts, so a loop that does not count pays nothing for them.
/// - Thread: The loop's own.
final class LoopWatch {
  /// A callout that takes longer is reported; in nanoseconds.
  static var slowLimit: UInt64 { 1_000_000_000 }
  #if DEBUG
    /// A signalled source that waits less is not reported: its signaller may be about to wake the loop.
    private static var patience: UInt64 { 10_000_000 }
  #endif
  /// Before each sleep the loop looks for closed descriptors among this many members; among more, once a second.
  private static var fewMembers: Int { 16 }
  private static var second: UInt64 { 1_000_000_000 }

  private var nextLook: UInt64 = 0
  var unread = UnreadCalls()

  deinit { unread.destroy() }

  /// Reports members whose descriptor was closed: epoll drops such a descriptor without a word.
  fileprivate func sleepBegins(in mode: ModePointer, on loop: RunLoop) {
    guard mode.counts.ports > 0 else { return }
    let now = Kernel.now()
    guard mode.counts.ports <= Self.fewMembers || now >= nextLook else { return }
    nextLook = Time.add(now, Self.second)
    let members = loop.lock.withLock { mode.ports.members }
    // The membership is asked last: another thread may remove the item and then close the descriptor, as it should.
    for member in members where member.hasClosedDescriptor && member.isMember(of: mode) { member.explainClosed() }
  }

  /// Reports sources for whose signal nothing has woken the loop: something else has ended the sleep.
  fileprivate func sleepEnds(in mode: ModePointer, on loop: RunLoop) {
    #if DEBUG
      guard !mode.sources.isEmpty, loop.wakes.word.isAsleep else { return }  // after a post the word is not asleep
      let now = Kernel.now()
      let late: [(String, UInt64)] = loop.lock.withLock {
        mode.sources.row.compactMap { entry in
          // Another loop of the source may be about to perform it.
          guard let waited = entry.source.waited(until: now), waited >= Self.patience, !entry.source.isHidden,
            entry.source.withLinks({ $0.otherLoops.isEmpty })
          else { return nil }
          return (entry.source.nameForDiagnostics, waited)
        }
      }
      for (name, waited) in late {
        Diagnosis.hintLocked(
          once: "signalled: \(name)",
          "signal(): \(name) has waited \(Duration(nanoseconds: waited)), and then something else ended the loop's sleep; "
            + "signal() does not wake a loop: call wakeUp() after it")
      }
    #endif
  }
}

extension ModePointer {
  @inline(never)
  func sleepBegins(_ counters: UnsafeMutablePointer<Counters>, on loop: RunLoop) {
    counters.pointee.sleepBegins()
    counters.pointee.watch?.sleepBegins(in: self, on: loop)
  }

  @inline(never)
  func sleepEnds(_ counters: UnsafeMutablePointer<Counters>, on loop: RunLoop) {
    counters.pointee.sleepEnds()
    counters.pointee.watch?.sleepEnds(in: self, on: loop)
  }
}

extension RunLoop {
  /// Called by the initialiser.
  @inline(never)
  func beginWatching() {
    let extras = state.makeExtras()
    extras.beginWatching()
    settleCounters(extras)
  }

  /// Counts a pass that begins. Reports a stop that came before the run and found none. - Thread: The loop's own.
  @inline(never)
  func passBegins(_ counters: UnsafeMutablePointer<Counters>) {
    counters.pointee.passBegins()
    guard stops.takeMissed(), !stops.isQuitting else { return }
    let text =
      "stop(): no run of the loop was on the stack, and the run that begins now is not stopped; to stop a run that is "
      + "still to come, queue a block before it: perform { loop.stop() }"
    Diagnosis.hintLocked(once: text, text)
  }
}

extension CalloutTiming {
  /// Reports a slow callout of a loop that has no reporter.
  static func explainSlow(
    _ taken: UInt64, _ item: RunLoop.Item?, _ block: BlockName?, _ kind: RunLoop.SlowCallout.Kind,
    _ mode: RunLoop.Mode
  ) {
    guard taken > LoopWatch.slowLimit else { return }  // the limit of a reporter that has gone meanwhile was shorter
    let name =
      item?.nameForDiagnostics ?? block?.text(behind: "a block")
      ?? (kind == .mainQueue ? "a function of the main queue" : "a block")
    Diagnosis.hintLocked(
      once: "slow: \(name)",
      "\(name) took \(Duration(nanoseconds: taken)) in mode \"\(mode)\", and the loop served nothing else meanwhile; do it "
        + "in parts, or in another thread")
  }
}

extension RunLoop.DescriptorItem {
  /// True if the program's descriptor is not open. A descriptor that the item owns, that the library has made, or that
  /// epoll does not watch is not looked at.
  fileprivate final var hasClosedDescriptor: Bool {
    switch kind {
    case .portSource, .descriptorSource:
      owned == nil && standIn == nil && fcntl(descriptor, F_GETFD) < 0 && errno == EBADF
    case .source, .port, .eventSource, .connection, .timer, .observer: false
    }
  }

  /// Reports that the item's descriptor was closed. The caller may hold a lock.
  @inline(never)
  final func explainClosed() {
    guard Diagnosis.reportsHints else { return }
    let text =
      "\(nameForDiagnostics): its descriptor \(descriptor) was closed while it was a member, and brings no more events; "
      + "invalidate the source first, then close"
    Diagnosis.hintLocked(once: text, text)
  }
}
