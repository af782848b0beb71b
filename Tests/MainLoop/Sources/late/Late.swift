import RunLoopKit

/// An async main that asks for its loop when the main thread has ended, or is about to: nothing waits for it.
@main enum Program {
  static func main() async {
    RunLoop.diagnostics.level = nil  // whether the block is there when the thread ends, or comes too late, is not fixed
    await Task.detached { await Task.yield() }.value
    await report("performAndWait") { try await RunLoop.main.performAndWait {} }
    await report("sleep") { try await Task.sleep(for: .seconds(3600), clock: RunLoop.main.clock) }
    await report("messages") { for try await _ in RunLoop.main.messages().messages {} }
    await Task(executorPreference: RunLoop.main.executor) { print("a job has run") }.value
  }

  private static func report(_ name: String, _ body: @escaping @Sendable () async throws -> Void) async {
    do {
      try await body()
      print("\(name) went on")
    } catch {
      print("\(name): \(error as? RunLoopError == .loopEnded)")
    }
  }
}
