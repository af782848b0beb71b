import RunLoopKit
import Synchronization

/// An async main: it ends the main thread when it first suspends. What was added is told of; what comes later is refused.
@main enum Program {
  static func main() async throws {
    let loop = RunLoop.main
    let isDropped = Atomic(false)
    try loop.add(RunLoop.Timer(fireDate: .now) { _ in print("it was called") })
    let source = RunLoop.Source { _ in }
    try loop.add(source)
    source.signal()
    try loop.perform(in: .default) {
      print("it has run")
    } onDrop: {
      print("dropped")
      isDropped.store(true, ordering: .releasing)
    }
    // The loop has ended before what waits there is dropped.
    while !isDropped.load(ordering: .acquiring) { try await Task.sleep(for: .milliseconds(1)) }
    do {
      try loop.perform {}
    } catch {
      print("refused: \(error as? RunLoopError == .loopEnded): \(error)")
    }
  }
}
