import RunLoopKit
import RunLoopTesting

private let story = Story()
private func layout() { story.tell("layout") }

func patternsCommit() throws {
  _ = VirtualTime.install()
  let loop = RunLoop.current
  try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
  // SAMPLE: patterns-commit
  try loop.run(for: .seconds(1))
  require(story.all == ["layout"])
}
