import RunLoopKit
import RunLoopTesting

private let story = Story()
private func answer(_ descriptor: Int32) { story.tell("answer") }
private func log(_ text: String) { RunLoop.current.stop() }

func eventsLimit() throws {
  _ = VirtualTime.install()
  let (socket, loop) = (readyPipe().reading, RunLoop.current)
  // SAMPLE: events-limit
  require(try loop.run() == .stopped)
  require(story.all.count == 100)
}
