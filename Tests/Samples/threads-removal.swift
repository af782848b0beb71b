import Glibc
import RunLoopKit

func threadsRemoval() throws {
  let source = RunLoop.Source { _ in }
  let fd = readyPipe().reading
  try RunLoop.current.add(source)
  // SAMPLE: threads-removal
  require(!source.isValid && fcntl(fd, F_GETFD) < 0)
}
