/// What has work for a loop that is no item and no block, and outlives the loop's thread: an executor.
protocol LoopCompanion: AnyObject, Sendable {
  /// How much work waits that a run of this mode, begun now, would do: the mode is not empty then. Called with the
  /// loop's lock held.
  func workCount(for mode: ModePointer) -> Int

  /// How much of it a pass does at most.
  var workPerPass: Int { get }

  /// The loop's thread is told to end: of a turn that is on the stack, or comes in the same pass, the work that comes
  /// from now on is no part. Called on any thread, with the loop's lock held.
  func loopQuits()

  /// The run that lies there was left, with the work that was on its stack (decision 0041). With no lock held. [loop]
  func runWasLeft(_ run: UInt)

  /// The loop's thread ends, has called its last callout, and will do no more work. Called on that thread, with no lock
  /// held.
  func loopHasEnded()
}

/// The companions of a loop. Guarded by the loop's lock. They stay until the loop is released, because code that uses
/// them holds them without a reference.
struct LoopCompanions {
  private(set) var all: [any LoopCompanion] = []

  mutating func append(_ companion: any LoopCompanion) { all.append(companion) }

  @inline(__always)
  func hasWork(for mode: ModePointer) -> Bool { !all.isEmpty && findWork(for: mode) }

  @inline(never)
  private func findWork(for mode: ModePointer) -> Bool { workCount(for: mode) > 0 }

  /// How many passes the work that waits needs: in each of them all companions have their turn.
  func passCount(for mode: ModePointer) -> Int {
    all.reduce(0) { max($0, ($1.workCount(for: mode) + $1.workPerPass - 1) / $1.workPerPass) }
  }

  func workCount(for mode: ModePointer) -> Int { all.reduce(0) { $0 + $1.workCount(for: mode) } }
}
