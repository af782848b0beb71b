// What the errors of the library say: each public operation that can throw, once for each call that it makes and each errno of
// the call's manual page, in which that call fails. Prints the list, and, on standard error, what is wrong: a text that does
// not name the call, or names another one; descriptors or files that are left; an operation that does not succeed afterwards.
//   error-texts           the list, which Tests/ErrorTexts/texts.txt has
//   error-texts limits    the same operations within real limits (RLIMIT_NOFILE, RLIMIT_NPROC) and without /proc: no list
// Ends with 0 if nothing is wrong, with 1 if something is, and with 3 where calls cannot be made to fail (sanitizers).
import CFailingLibc
import Glibc

@main
struct ErrorTexts {
  static func main() {
    signal(SIGPIPE, SIG_IGN)
    // As a program does that has sources for them: in all threads.
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in [SIGUSR1, SIGCHLD] { sigaddset(&signals, number) }
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    // Whatever the caller has open: the numbers above are the operations'.
    for number in Int32(3)..<256 { close(number) }
    guard failing_libc_is_here() != 0 else { exit(3) }
    let words = CommandLine.arguments.dropFirst()
    let complaints = words.first == "limits" ? Limits.complaints() : listComplaints()
    for complaint in complaints { complain(complaint) }
    exit(complaints.isEmpty ? 0 : 1)
  }

  private static func listComplaints() -> [String] {
    var complaints: [String] = []
    for operation in Operation.all {
      let usual = Attempt.run(operation, nil)
      guard usual.result == .works, usual.again == .works else {
        say("skipped: \(operation.name): \(usual.result)")
        continue
      }
      say(operation.name)
      var numbers: [String: Int] = [:]
      for call in usual.calls {
        let number = numbers[call, default: 0]
        numbers[call] = number + 1
        let lines = Errnos.of(call).compactMap { error -> String? in
          let plan = Plan(call: call, number: number, error: error)
          let report = Attempt.run(operation, plan)
          complaints += Judge.complaints(about: report, plan, operation, usual).map {
            "\(operation.name): \(call) \(number + 1), \(Errnos.name(error)): \($0)"
          }
          return report.hasFailed ? "    \(Errnos.name(error)): \(report.result)" : nil
        }
        // What changes nothing is not listed: whether it is called at all may depend on the build.
        guard lines.contains(where: { !$0.hasSuffix(": works") }) else { continue }
        say(usual.calls.count { $0 == call } > 1 ? "  \(call) \(number + 1)" : "  \(call)")
        lines.forEach(say)
      }
    }
    return complaints
  }

  static func say(_ line: String) { put(line, 1) }
  static func complain(_ line: String) { put(line, 2) }

  private static func put(_ line: String, _ descriptor: Int32) {
    _ = (line + "\n").withCString { write(descriptor, $0, strlen($0)) }
  }
}
