import RunLoopKit
import RunLoopTesting

private let story = Story()
private func ring() { story.tell("ring") }
private func expire() { story.tell("expire") }
private func again() { story.tell("again") }

func clocksDates() throws {
  _ = VirtualTime.install()
  // SAMPLE: clocks-dates
  for timer in [alarm, lease, retry] { try RunLoop.current.add(timer) }
  try RunLoop.current.run(for: .seconds(4000))
  require(story.all == ["again", "expire", "ring"])
}
