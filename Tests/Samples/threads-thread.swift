import RunLoopKit

private let story = Story()
private func sweep() { story.tell("sweep") }
private func index(_ file: String) { story.tell("index \(file)") }

func threadsThread() throws {
  let file = "README.md"
  // SAMPLE: threads-thread
  require(story.all == ["sweep", "index README.md"] || story.all == ["index README.md", "sweep"])
}
