import RunLoopKit

private func answer(_ descriptor: Int32) { RunLoop.current.stop() }

func eventsDescriptor() throws {
  let (socket, loop) = (readyPipe().reading, RunLoop.current)
  // SAMPLE: events-descriptor
  require(try loop.run() == .stopped)
}
