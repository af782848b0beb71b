import RunLoopKit
import RunLoopTesting

private let story = Story()

func testingDebounce() throws {
  _ = VirtualTime.install()
  let loop = RunLoop.current
  // SAMPLE: testing-debounce
  let debounce = try Debounce(.milliseconds(300), on: loop) { story.tell("quiet") }
  for _ in 0..<3 { debounce.somethingHappened() }
  try loop.run(for: .seconds(1))
  require(story.all == ["quiet"])
}
