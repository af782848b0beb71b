import RunLoopKit
import RunLoopTesting
import Synchronization

private let received = Mutex<Int?>(nil)
private var answer: Int? { received.withLock { $0 } }

func patternsAllModes() throws {
  _ = VirtualTime.install()
  let loop = RunLoop.current
  let date = RunLoop.Instant.now.advanced(by: .seconds(1))
  try loop.add(RunLoop.Timer(fireDate: date) { _ in received.withLock { $0 = 42 } }, to: "panel")
  // SAMPLE: patterns-all-modes
  require(hasAnswer)
}
