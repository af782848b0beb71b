import Dispatch
import RunLoopKit

struct Failure: Error {}

var log: [String] = []

func elsewhere() async -> Bool { await Task.detached { RunLoop.main.isCurrent }.value }

/// From a synchronous main to async code: the main actor, the main queue, timers and tasks on one loop.
let told = try RunLoop.main.run {
  log.append("main actor, main thread: \(RunLoop.main.isCurrent)")
  log.append("elsewhere, main thread: \(await elsewhere())")
  await withCheckedContinuation { continuation in
    DispatchQueue.main.async { continuation.resume() }
  }
  log.append("main queue")
  let ticks = try await RunLoop.main.performAndWait(after: .milliseconds(1)) { "timer" }
  log.append(ticks)
  try await Task.sleep(for: .milliseconds(1))
  return log
}
print(told.joined(separator: "\n"))
do {
  try RunLoop.main.run { throw Failure() }
} catch is Failure {
  print("rethrown")
}
Task { @MainActor in RunLoop.main.stop() }
let isCancelled = try RunLoop.main.run {
  do { try await Task.sleep(for: .seconds(1000)) } catch { return Task.isCancelled }
  return false
}
print("cancelled: \(isCancelled)")
