import Glibc
import Testing

/// The tool with too few descriptors, processes or memory: it ends at once, says what it could not get, and its status says so
/// too; or it has enough, and does what it always does. It never spins, hangs or traps.
@Suite struct ToolShortageTests {
  private struct Attempt {
    let words: [String]
    let limit: String
    let outcome: Tool.Outcome
    let seconds: Double

    /// What is wrong with it. A story may take its time if it can be told, and the machine may be busy.
    var complaint: String? {
      let isSoon = seconds < 20 || outcome.status == 0
      let isTold = outcome.status == 0 || !outcome.complaint.isEmpty
      let isNoTrap = outcome.status < 128
      return isSoon && isTold && isNoTrap ? nil : "\(words.joined(separator: " ")) (\(limit)): \(seconds) s, \(outcome)"
    }
  }

  private static let tool = Tool()

  /// By the shell, which sets the limit and becomes the tool, or what starts that. LeakSanitizer needs descriptors of its
  /// own at the end, and is not what is tested.
  private static func run(_ words: [String], limit: String, by starter: String = "") -> Attempt {
    let start = now()
    let noLeaks = "export LSAN_OPTIONS=\"$LSAN_OPTIONS:detect_leaks=0\""
    let script = "\(noLeaks); \(limit) && exec \(starter) \"$0\" \"$@\""
    let outcome = Tool(path: "/bin/sh").run(["-c", script, tool.path] + words)
    return Attempt(words: words, limit: limit, outcome: outcome, seconds: now() - start)
  }

  private static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static var stories: [String] {
    tool.run(["demo", "--list"]).output.split(separator: "\n").compactMap { line in
      line.split(separator: " ").first.map(String.init)
    }
  }

  @Test func test_RLK_ERROR_13_eachStoryWithFewDescriptors() {
    let stories = Self.stories
    #expect(stories.count > 5)
    var (failed, complaints) = (0, [String]())
    for story in stories {
      for limit in 0...20 {
        let attempt = Self.run(["demo", story], limit: "ulimit -n \(limit)")
        if let complaint = attempt.complaint { complaints.append(complaint) }
        guard attempt.outcome.status != 0 else { break }  // enough: so are more, but for echo, whose number varies
        failed += 1
        // The loader of libraries has its own words, and the shell.
        if limit > 5 { #expect(attempt.outcome.complaint.contains("RLIMIT_NOFILE is \(limit)"), "\(attempt)") }
      }
    }
    #expect(complaints.isEmpty, "\(complaints.joined(separator: "\n"))")
    #expect(failed > stories.count * 3)
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

  /// The superuser is bound by no limit of processes: the tool is a user's who has none.
  @Test(.enabled(if: geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0))
  func test_RLK_ERROR_13_withoutThreads() {
    for story in Self.stories {
      let attempt = Self.run(
        ["demo", story], limit: "ulimit -u 1", by: "/usr/bin/setpriv --reuid 61234 --clear-groups")
      #expect(attempt.complaint == nil)
      guard attempt.outcome.complaint.hasPrefix("runloop") else { continue }  // the folder may be closed to that user
      #expect(attempt.outcome.complaint.contains("RLIMIT_NPROC is 1"), "\(attempt)")
    }
  }
}
