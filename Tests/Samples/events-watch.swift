import Glibc
import RunLoopEvents
import RunLoopKit

private func readConfiguration() { RunLoop.current.stop() }

func eventsWatch() throws {
  let loop = RunLoop.current
  var name = Array("/tmp/samples-XXXXXX".utf8CString)
  let file = mkstemp(&name)
  let path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  // SAMPLE: events-watch
  require(write(file, "x", 1) == 1 && close(file) == 0)
  require(try loop.run() == .stopped)
  require(unlink(path) == 0)
}
