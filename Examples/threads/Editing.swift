import RunLoopKit
import Synchronization

extension Threads {
  /// Every call but `run` may come from any thread, also while the loop runs, sleeps or is in a callout. A sleeping loop serves
  /// at once what it is given: only a signalled source and `enqueue` ask for a `wakeUp()`.
  static func anyThreadEditsARunningLoop() throws {
    let served = RunLoop.Thread(name: "served")
    try served.start()
    guard let loop = served.loop else { return }
    let calls = Calls()
    let editors = try (0..<3).map { number in
      let editor = RunLoop.Thread(name: "editor \(number)")
      try editor.start()
      try editor.perform {
        for _ in 0..<100 { try? edit(loop, calls) }
      }
      return editor
    }
    for editor in editors {
      editor.stop(.afterDueWork)
      try editor.join()
    }
    expect(calls.count.load(ordering: .acquiring) == 300, "300 sources were performed, each before its removal")
    expect(calls.late.load(ordering: .acquiring) == 0, "none of them after it")
    served.stop()
    try served.join()
  }

  private static func edit(_ loop: RunLoop, _ calls: Calls) throws {
    let (isPerformed, isFreed) = (Flag(), Flag())
    let source = RunLoop.Source { _ in
      calls.count.add(1, ordering: .relaxed)
      isPerformed.isSet.store(true, ordering: .releasing)
      if isFreed.isSet.load(ordering: .acquiring) { calls.late.add(1, ordering: .relaxed) }
    }
    try loop.add(source, to: .common)
    source.signal()
    // Each of these wakes the loop, and some pass after it performs the source.
    while !isPerformed.isSet.load(ordering: .acquiring) { try loop.performAndWait {} }
    // From here on what the source uses may go: its callout does not run, and will not.
    try source.invalidateAndWait()
    isFreed.isSet.store(true, ordering: .releasing)
  }

  private final class Calls: Sendable {
    let count = Atomic<Int>(0)
    let late = Atomic<Int>(0)
  }

  private final class Flag: Sendable {
    let isSet = Atomic<Bool>(false)
  }
}
