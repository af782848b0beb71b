/// The open waits of a loop that has a host, the innermost last, and the events that they have found.
/// - Thread: The loop's own.
final class HostedWaits {
  var waits: ContiguousArray<HostedWait> = []
  /// At most one for each mode.
  private var events: [(mode: ModePointer, event: PassEvent)] = []
  /// The closure by which a run sleeps in a host, and that host.
  var sleep: (host: ObjectIdentifier, body: HostSleep)?
  /// The passes that hosts have asked for, the innermost last. An exception may have left some of them.
  private var passes: [Pass] = []

  private struct Pass {
    /// The place on the stack of the run in whose callout the host has asked for the pass. 0 if the host has asked
    /// outside of all runs.
    let parent: UInt
    /// True if a stop was requested of the pass's run, and the run has ended without reading it.
    var isStopped = false
  }

  /// Adds the pass that a host asks for inside the run at `parent`. If the list has a pass with that parent already, an
  /// exception has left it and the passes inside it, and they are removed.
  func beginPass(inside parent: UInt) {
    forgetPass(inside: parent)
    passes.append(Pass(parent: parent))
  }

  /// Called when a run inside the run at `parent` was left. Removes the pass of that run, if a host has asked for it.
  func forgetPass(inside parent: UInt) {
    if let left = passes.firstIndex(where: { $0.parent == parent }) { passes.removeSubrange(left...) }
  }

  /// Ends the pass. Returns whether it was stopped.
  func endPass(inside parent: UInt) -> Bool {
    guard let index = passes.firstIndex(where: { $0.parent == parent }) else { return false }
    defer { passes.removeSubrange(index...) }
    return passes[index].isStopped
  }

  /// Called when a run inside the run at `parent` has ended while a stop was requested.
  func noteStopped(inside parent: UInt) {
    if let index = passes.firstIndex(where: { $0.parent == parent }) { passes[index].isStopped = true }
  }

  // MARK: Hosts that leave

  func leave(_ isLeft: (HostedWait) -> Bool) {
    for index in waits.indices where isLeft(waits[index]) { waits[index].hasLeft = true }
  }

  /// Called when `prepareToWait` has failed. Marks its wait as one that is to end.
  func leaveInnermost() { if let last = waits.indices.last { waits[last].hasLeft = true } }

  // MARK: Events that were found before the pass that serves them

  func hasEvent(for mode: ModePointer) -> Bool { events.contains { $0.mode == mode } }

  func hold(_ event: PassEvent, of mode: ModePointer) { events.append((mode, event)) }

  func takeEvent(for mode: ModePointer) -> PassEvent? {
    guard let index = events.firstIndex(where: { $0.mode == mode }) else { return nil }
    return events.remove(at: index).event
  }

  var holdsEvents: Bool { !events.isEmpty }

  /// Removes all events. The caller, which ends the loop, drops them.
  func takeEvents() -> [PassEvent] {
    defer { events = [] }
    return events.map { $0.event }
  }
}

extension RunLoop {
  /// The loop's `HostedWaits`, made when a host first needs it.
  var hostedWaits: HostedWaits {
    if let hosted = owner.hosted { return hosted }
    let made = HostedWaits()
    owner.hosted = made
    return made
  }
}
