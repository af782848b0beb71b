import RunLoopKit
import RunLoopTesting

private let story = Story()
private func rebuildIndex() {
  story.tell("index")
  RunLoop.current.stop()
}

func patternsIdle() throws {
  _ = VirtualTime.install()
  let loop = RunLoop.current
  try loop.perform { story.tell("request") }
  // SAMPLE: patterns-idle
  require(try loop.run() == .stopped)
  require(story.all == ["request", "index"])
}
