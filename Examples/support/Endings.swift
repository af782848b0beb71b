@preconcurrency import Glibc  // stderr is a variable there

/// How an example ends that cannot go on: with 1, and the cause on standard error. A `main` that throws ends by a signal.
public enum Ending {
  /// Runs the program.
  public static func ofErrors(in program: () throws -> Void) {
    do { try program() } catch { fail("\(error)") }
  }

  /// Ends the program because of what is said.
  public static func fail(_ text: String) -> Never {
    fputs("\(CommandLine.arguments[0].split(separator: "/").last ?? "example"): \(text)\n", stderr)
    exit(1)
  }

  /// Ends the program if a call of the system has failed: it has returned a negative number. - Returns: The number.
  @discardableResult
  public static func ifFailed(_ call: String, _ answer: Int32) -> Int32 {
    guard answer < 0 else { return answer }
    fail("\(call): \(String(cString: strerror(errno)))")
  }
}
