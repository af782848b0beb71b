import Glibc
import RunLoopKit
import RunLoopMainExecutor

/// One case of the main actor's executor, since a process installs one once: `main-executor CASE`.
@main struct Program {
  static func main() {
    guard let name = CommandLine.arguments.dropFirst().first else {
      print(MainExecutorCases.isSupported ? "supported" : "unsupported")
      return
    }
    alarm(120)  // ends a case that hangs
    do {
      try MainExecutorCases.run(name)
      print("ok")
    } catch {
      print("FAIL \(name): \(error)")
    }
  }
}

struct Failure: Error, CustomStringConvertible {
  let description: String
}

/// Throws with the line if the condition is false.
func expect(_ condition: Bool, _ text: String = "", line: UInt = #line) throws {
  if !condition { throw Failure(description: "line \(line) \(text)") }
}

func expect(_ error: RunLoopError, line: UInt = #line, _ body: () throws -> Void) throws {
  do {
    try body()
  } catch error {
    return
  }
  throw Failure(description: "line \(line): no error \(error)")
}
