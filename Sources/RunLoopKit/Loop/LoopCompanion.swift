/// An object whose jobs a loop performs, for example an executor. The loop notifies it when the loop ends. It is no
/// item, and may outlive the loop's thread.
protocol LoopCompanion: AnyObject, Sendable {
  /// The number of jobs that a run of this mode would do if it began now. A mode with jobs is not empty. Called with
  /// the loop's lock held.
  func workCount(for mode: ModePointer) -> Int

  /// The largest number of jobs that one pass does.
  var workPerPass: Int { get }

  /// Called when the loop's thread is asked to end. The current pass must not perform jobs that arrive after this call.
  /// Called on any thread, with the loop's lock held.
  func loopQuits()

  /// Called when an exception or longjmp(3) has left a run that may have been performing jobs (decision 0041). No lock
  /// is held.
  /// - Thread: The loop's own.
  /// - Parameter run: The run's address on the stack.
  func runWasLeft(_ run: UInt)

  /// Called on the loop's thread at its end, after the loop's last callout, with no lock held.
  func loopHasEnded()
}

/// The companions of a loop. Guarded by the loop's lock. The loop retains them until it is released itself, since tasks
/// that prefer an executor do not retain the executor.
struct LoopCompanions {
  private(set) var all: [any LoopCompanion] = []

  mutating func append(_ companion: any LoopCompanion) { all.append(companion) }

  func hasWork(for mode: ModePointer) -> Bool { !all.isEmpty && findWork(for: mode) }

  @inline(never)
  private func findWork(for mode: ModePointer) -> Bool { workCount(for: mode) > 0 }

  /// The number of passes that the waiting work needs. Each pass gives every companion a turn.
  func passCount(for mode: ModePointer) -> Int {
    all.reduce(0) { max($0, ($1.workCount(for: mode) + $1.workPerPass - 1) / $1.workPerPass) }
  }

  func workCount(for mode: ModePointer) -> Int { all.reduce(0) { $0 + $1.workCount(for: mode) } }
}
