import RunLoopKit

func portsThreads() throws {
  // SAMPLE: ports-threads
  require(try RunLoop.current.run(returnAfterSourceHandled: true) == .handledSource)
  thread.stop()
  try thread.join()
}
