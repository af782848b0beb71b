import RunLoopKit
import RunLoopTesting

private let story = Story()
private func sync() {
  story.tell("sync")
  RunLoop.current.stop()
}

func patternsAfterReady() throws {
  _ = VirtualTime.install()
  let loop = RunLoop.current
  // SAMPLE: patterns-after-ready
  for number in 1...2 {
    let ends = readyPipe()
    try loop.add(
      RunLoop.FileDescriptorSource(fileDescriptor: ends.reading, interest: .readable) { source, _ in
        story.tell("request \(number)")
        log.setNeeded()
        source.invalidate()
      })
  }
  require(try loop.run() == .stopped)
  require(story.all == ["request 1", "request 2", "sync"])
}
