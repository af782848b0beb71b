import Glibc
import RunLoopKit
import XWindow

/// A window with what tutorials of the run loop tell about: drag the list, and watch the clocks. `q` ends it.
///
/// It says on standard output where things are, and what its labels show from when on.
@main enum Program {
  /// Synchronous: an async `main` would give the main thread away, and with it the main loop.
  @MainActor static func main() throws {
    do {
      let window = try MainWindow()
      try RunLoop.main.runUntilStopped()
      try window.end()
    } catch let failure as Display.Failure {
      Report.failure(failure)
      exit(1)
    }
  }
}

/// Lines for whoever has started the program. Written at once, also into a pipe.
enum Report {
  static func say(_ line: String) { write(line, to: STDOUT_FILENO) }

  static func failure(_ error: any Error) { write("window: \(error)", to: STDERR_FILENO) }

  private static func write(_ line: String, to descriptor: Int32) {
    var rest = Array((line + "\n").utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno != EINTR { exit(1) }
      rest = rest.dropFirst(max(0, count))
    }
  }
}
