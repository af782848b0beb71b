import Dispatch
import RunLoopKit
import RunLoopMainExecutor

/// The main actor on the main loop, by the loop's executor; the main queue beside it.
try RunLoop.MainActorExecutor.install()

@MainActor func hop() async throws {
  print("main actor, main thread: \(RunLoop.main.isCurrent)")
  try await Task.sleep(for: .milliseconds(1))
  print("slept, main thread: \(RunLoop.main.isCurrent)")
  let isElsewhere = await Task.detached { !RunLoop.main.isCurrent }.value
  print("elsewhere: \(isElsewhere)")
  let isIsolated = await withCheckedContinuation { continuation in
    DispatchQueue.main.async { continuation.resume(returning: RunLoop.MainActorExecutor.isIsolated) }
  }
  print("main queue, isolated: \(isIsolated)")
  RunLoop.MainActorExecutor.stop()
}

Task { try await hop() }
try RunLoop.MainActorExecutor.run()
do {
  try RunLoop.MainActorExecutor.install()
} catch {
  print("again: \(error as? RunLoopError == .mainExecutorInstalled)")
}
