import RunLoopKit
import RunLoopTesting

private let story = Story()
private struct Store: Sendable { func save() { story.tell("saved") } }
private let store = Store()

private final class Document: Sendable {
  func edited(on loop: RunLoop) throws {
    // SAMPLE: threads-delayed
    handle.cancel()
  }
}

func threadsDelayed() throws {
  _ = VirtualTime.install()
  let loop = RunLoop.current
  let document = Document()
  try document.edited(on: loop)
  try loop.run(for: .seconds(10))
  require(story.all == [])
}
