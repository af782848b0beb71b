import RunLoopKit
import RunLoopTesting

private func log(_ text: String) {}

func patternsSlow() throws {
  _ = VirtualTime.install()
  let loop = RunLoop.current
  // SAMPLE: patterns-slow
}
