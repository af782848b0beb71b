import Glibc
import Testing

/// The tool with too few descriptors: it ends at once, says what it could not get, and its status says so too; or it has
/// enough, and does what it always does. It never spins, hangs or traps.
@Suite struct ToolShortageTests {
  private struct Attempt {
    let words: [String]
    let limit: String
    let outcome: Tool.Outcome
    let seconds: Double

    /// What is wrong with it. The machine may be busy.
    var complaint: String? {
      let isSoon = seconds < 20 || outcome.status == 0
      let isTold = outcome.status == 0 || !outcome.complaint.isEmpty
      let isNoTrap = outcome.status < 128
      return isSoon && isTold && isNoTrap ? nil : "\(words.joined(separator: " ")) (\(limit)): \(seconds) s, \(outcome)"
    }
  }

  private static let tool = Tool()

  /// By the shell, which sets the limit and becomes the tool. LeakSanitizer needs descriptors of its own at the end, and is
  /// not what is tested.
  private static func run(_ words: [String], limit: String) -> Attempt {
    let start = now()
    let noLeaks = "export LSAN_OPTIONS=\"$LSAN_OPTIONS:detect_leaks=0\""
    let script = "\(noLeaks); \(limit) && exec \"$0\" \"$@\""
    let outcome = Tool(path: "/bin/sh").run(["-c", script, tool.path] + words)
    return Attempt(words: words, limit: limit, outcome: outcome, seconds: now() - start)
  }

  private static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  @Test func test_RLK_ERROR_13_portsAndScenariosWithFewDescriptors() {
    let folder = #filePath.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }
    let scenario = ["scenario", folder + "/Corpus/timer-repeating.rl"]
    for words in [["port", "serve", "short-of-descriptors"], ["port", "send", "nobody", "x"], scenario] {
      for limit in 0...(words[1] == "serve" ? 8 : 20) {
        let attempt = Self.run(words, limit: "ulimit -n \(limit)")
        #expect(attempt.complaint == nil)
      }
    }
  }
}
