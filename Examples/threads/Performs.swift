import RunLoopKit
import Synchronization

extension Threads {
  /// A loop is given work now, later, and with an answer; what is not wanted any more is taken back.
  static func workNowLaterAndWithAnAnswer() throws {
    let thread = RunLoop.Thread(name: "performs")
    try thread.start()
    guard let loop = thread.loop else { return }
    let saved = Calls()
    final class Document: Sendable {}
    let document = Document()
    // Each change asks anew; the one before is taken back, so that a burst of changes is saved once.
    try loop.perform {
      for _ in 0..<5 {
        loop.cancelPerforms(target: document, key: "save")
        _ = try? loop.perform(after: .milliseconds(1), target: document, key: "save") { saved.add() }
      }
    }
    let never = try loop.perform(after: .seconds(3600)) { saved.add() }
    expect(never.cancel() && !never.isPending, "a handle cancels its own block")
    // Blocks of one mode run in order, and who waits is answered in that order too.
    try loop.perform { saved.note("first") }
    let isThere = try loop.performAndWait {
      saved.note("second")
      return loop.isCurrent
    }
    let isInOrder = saved.notes == ["first", "second"]
    expect(isThere && isInOrder, "the answer came from the loop's thread, after what was queued before")
    var isWithdrawn = false
    do {
      try loop.performAndWait(in: "never run", timeout: .milliseconds(1)) { saved.add() }
    } catch RunLoopError.timedOut {
      isWithdrawn = true
    }
    expect(isWithdrawn, "a block whose mode does not come is withdrawn in time")
    while saved.count == 0 { try loop.performAndWait {} }
    thread.stop(.afterDueWork)
    try thread.join()
    expect(saved.count == 1, "five changes, one save")
  }

  /// The two ways to stop, and work that comes too late.
  static func stoppedNowOrAfterDueWork() throws {
    for ending: RunLoop.Thread.Ending in [.afterDueWork, .now] {
      let (thread, calls) = (RunLoop.Thread(name: "stops"), Calls())
      try thread.start()
      try thread.perform {
        // While this block runs, three more wait behind it.
        for _ in 0..<3 { try? RunLoop.current.perform { calls.add() } }
        thread.stop(ending)
        do {
          try thread.perform { calls.note("late") }
        } catch {
          calls.note("refused: \(error)")
        }
      }
      try thread.join()
      expect(calls.notes.count == 1, "stopped \(ending): late work was refused")
      // After a stop now the pass that runs is finished, and may come to them or not.
      expect(ending == .now || calls.count == 3, "and what was due then had its turn, if it was to have it")
    }
  }

  /// What keeps a loop running: any member but an observer. A source that nobody signals is one count, removing it one less.
  static func aLoopLivesAsLongAsOperationsAreOpen() throws {
    let loop = RunLoop.current
    let workers = try (0..<3).map { number in
      let (worker, open) = (RunLoop.Thread(name: "operation \(number)"), RunLoop.Source { _ in })
      try loop.add(open, to: "operations")
      try worker.start()
      // From whatever thread: the run looks again whether anything is left.
      try worker.perform {
        open.invalidate()
        loop.wakeUp()
      }
      return worker
    }
    let result = try loop.run(in: "operations")
    expect(result == .finished, "the run ended with the last operation")
    for worker in workers {
      worker.stop()
      try worker.join()
    }
  }

  private final class Calls: Sendable {
    private let state = Mutex<(count: Int, notes: [String])>((0, []))

    var count: Int { state.withLock { $0.count } }
    var notes: [String] { state.withLock { $0.notes } }

    func add() { state.withLock { $0.count += 1 } }
    func note(_ text: String) { state.withLock { $0.notes.append(text) } }
  }
}
