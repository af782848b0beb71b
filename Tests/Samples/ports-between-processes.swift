import Glibc
import RunLoopEvents
import RunLoopKit
import RunLoopPorts

private func sum(of bytes: RunLoop.Message.Bytes?) -> RunLoop.Message.Bytes {
  [(bytes ?? []).reduce(0, +)]
}

/// Says by the descriptor that its loop runs, and so that the name is taken.
private func serve(_ descriptor: Int32) throws {
  try RunLoop.current.perform { _ = write(descriptor, "x", 1) }
  // SAMPLE: between-server
}

private func ask() throws {
  // SAMPLE: between-client
  require(answer.id == 150 && answer.bytes == [6])
}

func portsBetweenProcesses() throws {
  if CommandLine.arguments.count > 2 { return try serve(Int32(CommandLine.arguments[2])!) }
  var ends: [Int32] = [-1, -1]
  require(pipe(&ends) == 0)
  let server = try RunLoop.ChildSource.spawn("/proc/self/exe", arguments: ["ports-between-processes", "\(ends[1])"])
  close(ends[1])
  var byte: UInt8 = 0
  require(read(ends[0], &byte, 1) == 1)
  try ask()
  kill(server, SIGKILL)
  waitpid(server, nil, 0)
}
