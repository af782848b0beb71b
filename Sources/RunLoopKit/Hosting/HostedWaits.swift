/// What a loop has that has a host: the waits that are open, the innermost one last, and what they have found. [loop]
final class HostedWaits {
  var waits: ContiguousArray<HostedWait> = []
  /// Of several modes at most one each.
  private var events: [(mode: ModePointer, event: PassEvent)] = []
  /// How a run sleeps in the host, and in which.
  var sleep: (host: ObjectIdentifier, body: HostSleep)?
  /// The passes that hosts have asked for, the innermost one last. One may have been left that the loop has not noticed
  /// yet.
  private var passes: [Pass] = []

  private struct Pass {
    /// As that of a wait.
    let parent: UInt
    /// A stop has reached its run, and that has ended without asking.
    var isStopped = false
  }

  /// A host asks for a pass inside of `parent`: those that it has asked for there before were left.
  func beginPass(inside parent: UInt) {
    forgetPass(inside: parent)
    passes.append(Pass(parent: parent))
  }

  /// The run inside of `parent` was left: if a host has asked for it, the pass is left, too.
  func forgetPass(inside parent: UInt) {
    if let left = passes.firstIndex(where: { $0.parent == parent }) { passes.removeSubrange(left...) }
  }

  /// Whether it was stopped.
  func endPass(inside parent: UInt) -> Bool {
    guard let index = passes.firstIndex(where: { $0.parent == parent }) else { return false }
    defer { passes.removeSubrange(index...) }
    return passes[index].isStopped
  }

  /// A run inside of `parent` has ended, asked to stop.
  func noteStopped(inside parent: UInt) {
    if let index = passes.firstIndex(where: { $0.parent == parent }) { passes[index].isStopped = true }
  }

  // MARK: Hosts that leave

  func leave(_ isLeft: (HostedWait) -> Bool) {
    for index in waits.indices where isLeft(waits[index]) { waits[index].hasLeft = true }
  }

  /// Its preparation has failed.
  func leaveInnermost() { if let last = waits.indices.last { waits[last].hasLeft = true } }

  // MARK: Events that were found before the pass that serves them

  func hasEvent(for mode: ModePointer) -> Bool { events.contains { $0.mode == mode } }

  func hold(_ event: PassEvent, of mode: ModePointer) { events.append((mode, event)) }

  func takeEvent(for mode: ModePointer) -> PassEvent? {
    guard let index = events.firstIndex(where: { $0.mode == mode }) else { return nil }
    return events.remove(at: index).event
  }

  var holdsEvents: Bool { !events.isEmpty }

  /// Removes all: the caller, which ends the loop, drops them.
  func takeEvents() -> [PassEvent] {
    defer { events = [] }
    return events.map { $0.event }
  }
}

extension RunLoop {
  /// Made by the host's first call.
  var hostedWaits: HostedWaits {
    if let hosted = owner.hosted { return hosted }
    let made = HostedWaits()
    owner.hosted = made
    return made
  }
}
