import Glibc
import RunLoopKit
import Synchronization

/// The worker threads of the tutorials. `RunLoop.Thread` does all of it; this is what programs do that are carried over.
private final class Worker: Sendable {
  private let keep = Atomic<Bool>(true)
  private let runs = Atomic<Int>(0)
  private let hasBegun = Atomic<Bool>(false)
  private let host: RunLoop.Thread
  var loop: RunLoop { host.loop! }

  /// The endless run of the thread, nested in its first block: an empty port keeps the mode, and each perform ends a run.
  init() throws {
    host = RunLoop.Thread(name: "worker")
    try host.start()
    try host.perform { [self] in
      _ = try? RunLoop.current.add(RunLoop.Port { _, _ in })
      hasBegun.store(true, ordering: .releasing)
      while keep.load(ordering: .relaxed) {
        _ = try? RunLoop.current.run(in: .default, returnAfterSourceHandled: true)
        runs.add(1, ordering: .relaxed)
      }
    }
    // What is queued together with the block from which a run is begun waits for that run's end.
    while !hasBegun.load(ordering: .acquiring) { sched_yield() }
  }

  func clearFlag() { keep.store(false, ordering: .relaxed) }

  /// How many runs have ended.
  func end() throws -> Int {
    host.stop()
    try host.join()
    return runs.load(ordering: .relaxed)
  }
}

extension Threads {
  static func theRecipesOfTheTutorials() throws {
    let first = try Worker()
    try first.loop.performAndWait { first.clearFlag() }
    expect(try first.end() >= 1, "a flag that performAndWait clears ends the thread")

    let second = try Worker()
    try second.loop.performAsSource { second.clearFlag() }
    expect(try second.end() >= 1, "so does a perform that is not waited for")

    let third = try Worker()
    try third.loop.perform { third.clearFlag() }  // a block is no source: the run goes on
    try third.loop.performAndWait {}
    expect(try third.end() >= 1, "a block alone does not: the next source ends the run")
  }
}
