import Glibc
import RunLoopKit

func portsDescriptor() throws {
  let ends = readyPipe()
  let port = RunLoop.Port(queueLimit: 1) { _, message in
    require(message.descriptors[0].fileDescriptor >= 0)
    RunLoop.current.stop()
  }
  try RunLoop.current.add(port)
  let right = port.sendRight
  for (descriptor, isSent) in [(ends.reading, true), (ends.writing, false)] {
    // SAMPLE: ports-descriptor
    require((file.fileDescriptor == -1) == isSent)
  }
  require(try RunLoop.current.run() == .stopped)
  port.invalidate()
  // Who received them has let go of the message, and who could not send it of the descriptor.
  require(fcntl(ends.reading, F_GETFD) < 0 && fcntl(ends.writing, F_GETFD) < 0)
}
