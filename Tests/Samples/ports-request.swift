import RunLoopKit

func portsRequest() throws {
  let port = RunLoop.Port(replying: { _, message in RunLoop.Message(id: message.id + 1) })
  let thread = RunLoop.Thread(name: "worker") { loop in try loop.add(port) }
  try thread.start()
  let right = port.sendRight
  // SAMPLE: ports-request
  require(answer.id == 13)
  thread.stop()
  try thread.join()
}
