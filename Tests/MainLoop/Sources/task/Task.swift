import RunLoopKit
import Story

@main enum Program {
  static func main() throws {
    try Story.tell()
    Task { @MainActor in
      try await Task.sleep(for: .milliseconds(1))
      RunLoop.main.stop()
    }
    try Story.runQueue()
  }
}
