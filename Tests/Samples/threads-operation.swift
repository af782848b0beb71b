import RunLoopKit

private func operate() {}

func threadsOperation() throws {
  let (loop, worker) = (RunLoop.current, RunLoop.Thread(name: "worker"))
  try worker.start()
  // SAMPLE: threads-operation
  require(result == .finished)
  worker.stop()
  try worker.join()
}
