import RunLoopKit
import RunLoopTesting

func patternsStatistics() throws {
  _ = VirtualTime.install()
  let loop = RunLoop.current
  // SAMPLE: patterns-statistics
  require(last.timersFired == 0)
}
