import RunLoopKit
import RunLoopTesting

private let story = Story()
private func closeConnection() { story.tell("close") }

func patternsRearm() throws {
  _ = VirtualTime.install()
  let loop = RunLoop.current
  // SAMPLE: patterns-rearm
  try loop.run(for: .seconds(1000))
  require(story.all == ["close"])
}
