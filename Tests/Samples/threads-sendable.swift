import RunLoopKit
import Synchronization

func threadsSendable() throws {
  let loop = RunLoop.current
  // SAMPLE: threads-sendable
  try loop.run(for: .zero)
  require(count.withLock { $0 } == 3)
}
