import RunLoopKit
import RunLoopTesting

func patternsLabel() throws {
  let time = VirtualTime.install()
  let timer = RunLoop.Timer(rearmable: time.now.advanced(by: .milliseconds(12_500))) { _ in }
  try RunLoop.current.add(timer)
  // SAMPLE: patterns-label
  require(
    "\(timer)" == #"<timer "session 4711: idle" order 0, next in 12.5 seconds, rearmable, tolerance 0.0 seconds>"#)
}
