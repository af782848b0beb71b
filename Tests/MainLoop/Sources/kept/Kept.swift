import RunLoopKit

/// An async main with what libraries keep in the loop of the thread that they were called on: nothing of it waits for anything but
/// to be signalled, armed or notified. Nobody is to hear of it.
@main enum Program {
  static func main() async throws {
    let loop = RunLoop.main
    try loop.add(RunLoop.Source { _ in print("it was called") }, to: .common)
    try loop.add(RunLoop.Timer(rearmable: .distantFuture) { _ in print("it was called") })
    try loop.add(RunLoop.Observer(.all) { _, _ in print("it was called") })
    while !loop.hasEnded { try await Task.sleep(for: .milliseconds(1)) }
    print("over")
  }
}
