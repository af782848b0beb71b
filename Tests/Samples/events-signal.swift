import Glibc
import RunLoopEvents
import RunLoopKit

private let story = Story()
private func readConfiguration() {
  story.tell("read")
  kill(getpid(), SIGTERM)
}

func eventsSignal() throws {
  // SAMPLE: events-signal
  kill(getpid(), SIGHUP)
  require(try RunLoop.main.run() == .stopped)
  require(source.isValid && story.all == ["read"])
}
