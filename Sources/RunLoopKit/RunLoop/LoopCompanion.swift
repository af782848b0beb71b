/// What has work for a loop that is no item and no block, and outlives the loop's thread: an executor.
protocol LoopCompanion: AnyObject, Sendable {
  /// True if work waits that a run of this mode would do: the mode is not empty then. Called with the loop's lock held.
  func hasWork(for mode: ModePointer) -> Bool

  /// The loop's thread ends, and will do no more work. Called once, on that thread, with no lock held.
  func loopHasEnded()
}

/// The companions of a loop. Guarded by the loop's lock. They stay until the loop is released, as whoever uses them
/// holds them without a reference.
struct LoopCompanions {
  private(set) var all: [any LoopCompanion] = []

  mutating func append(_ companion: any LoopCompanion) { all.append(companion) }

  @inline(__always)
  func hasWork(for mode: ModePointer) -> Bool { !all.isEmpty && findWork(for: mode) }

  @inline(never)
  private func findWork(for mode: ModePointer) -> Bool { all.contains { $0.hasWork(for: mode) } }
}
