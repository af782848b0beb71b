import Glibc
import RunLoopKit
import Synchronization

private let saved = Atomic(false)
private var hasSaved: Bool { saved.load(ordering: .relaxed) }

func patternsSignal() throws {
  let loop = RunLoop.current
  // SAMPLE: patterns-signal
  try loop.add(RunLoop.Timer(fireDate: .now) { _ in saved.store(true, ordering: .relaxed) }, to: "panel")
  kill(getpid(), SIGTERM)
  while !hasSaved { try loop.run(returnAfterSourceHandled: true) }
}
