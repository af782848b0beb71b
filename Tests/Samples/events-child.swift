import Glibc
import RunLoopEvents
import RunLoopKit

private func report(_ status: RunLoop.ExitStatus) {
  require(status == .exited(code: 0))
  RunLoop.current.stop()
}

func eventsChild() throws {
  let loop = RunLoop.current
  var folder = Array("/tmp/samples-XXXXXX".utf8CString)
  require(mkdtemp(&folder) != nil && chdir(folder) == 0)
  close(open("log.1", O_CREAT | O_WRONLY, 0o600))
  // SAMPLE: events-child
  require(try loop.run() == .stopped)
  require(unlink("log.1.gz") == 0 && rmdir(folder) == 0)
}
