import RunLoopKit
import RunLoopTesting

private let story = Story()
private func draw(at date: RunLoop.Instant, visibleAt target: RunLoop.Instant) {
  let nanoseconds = date.duration(to: target) / .nanoseconds(1)
  story.tell(16_666_666...16_666_667 ~= nanoseconds ? "frame" : "\(nanoseconds) ns")
  if story.all.count == 3 { RunLoop.current.stop() }
}

func patternsFrames() throws {
  _ = VirtualTime.install()
  let loop = RunLoop.current
  // SAMPLE: patterns-frames
  require(try loop.run() == .stopped)
  require(story.all == ["frame", "frame", "frame"])
}
