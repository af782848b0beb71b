import Glibc
import RunLoopEvents
import RunLoopKit

/// This program once more, with other arguments, as a child process.
final class Child {
  let processID: Int32
  private var source: RunLoop.ChildSource?

  /// - Parameter body: Called when it has ended; until then this must be kept.
  init(arguments: [String], on loop: RunLoop, _ body: @escaping (RunLoop.ExitStatus) -> Void) throws {
    processID = try RunLoop.ChildSource.spawn("/proc/self/exe", arguments: arguments)
    do {
      source = try loop.assumeOnLoop { local in
        try local.childSource(processID: processID) { body($1) }
      }
    } catch {
      // Nobody would hear of its end.
      Glibc.kill(processID, SIGKILL)
      while waitpid(processID, nil, 0) < 0 && errno == EINTR {}
      throw error
    }
  }

  deinit { source?.invalidate() }

  func kill() { try? source?.send(.kill) }
}
