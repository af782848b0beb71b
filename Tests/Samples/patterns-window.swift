import RunLoopKit
import RunLoopTesting

private let story = Story()
private func sendHeartbeat() { story.tell("beat") }

func patternsWindow() throws {
  _ = VirtualTime.install()
  let loop = RunLoop.current
  // SAMPLE: patterns-window
  try loop.run(for: .seconds(80))  // the limit wakes the loop; the timer alone would fire after 90 seconds
  require(story.all == ["beat"])
}
