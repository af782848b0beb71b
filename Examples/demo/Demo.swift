import ExampleSupport
@preconcurrency import Glibc  // stdout is a variable there
import RunLoopKit

/// The stories by which run loops are taught, told by a program that does what it says and checks it.
@main enum Demo {
  static let usage = """
    usage: demo [--text FILE] [STORY...]
           demo --list

    Tells the named stories, or all of them. Exit status: 0 if every story came
    out as told, 1 if one did not, 2 if the command line is wrong.

      --list        name the stories and stop
      --text FILE   what the echo clients send (else a licence text of the system)
      --help        this text
    """

  /// Synchronous, on the main thread: the stories run the main loop.
  static func main() {
    StandardOutput.watch()
    setvbuf(stdout, nil, _IOLBF, 0)  // a line is one write(2), whichever thread speaks
    exit(run(Array(CommandLine.arguments.dropFirst())))
  }

  private static func run(_ arguments: [String]) -> Int32 {
    let stage = Stage()
    let request: Request
    do {
      request = try Request(arguments)
    } catch let error as UsageError {
      stage.complain("demo: \(error.message)\n\n\(usage)")
      return 2
    } catch {
      stage.complain("demo: \(error)")
      return 2
    }
    switch request.kind {
    case .help:
      stage.put(usage)
      return 0
    case .list:
      for story in allStories(textFile: nil) { stage.put(padded(story.name, 10) + story.title) }
      return 0
    case .tell(let stories):
      return tell(stories, on: stage) ? 0 : 1
    }
  }

  static func allStories(textFile: String?) -> [any Story] {
    [
      EchoStory(textFile: textFile), ModesStory(), SignalStory(), CommitStory(), ResidentStory(), PassStory(),
      NestedStory(), PortStory(),
    ]
  }

  private static func tell(_ stories: [any Story], on stage: Stage) -> Bool {
    stage.banner(
      "RunLoopKit: \(stories.count == 1 ? "one story" : "\(stories.count) stories") about run loops",
      "A thread, a loop, and what it waits for. Every line below is happening now.")
    let began = RunLoop.Instant.now
    var results: [(story: any Story, outcome: Outcome)] = []
    for (index, story) in stories.enumerated() {
      stage.heading("\(index + 1)/\(stories.count)", story.name, story.title)
      let outcome = tell(story, on: stage)
      stage.verdict(outcome)
      if let check = outcome.checks.first(where: { !$0.holds }) {
        stage.complain("demo: \(story.name): \(check.claim): \(check.seen)")
      }
      results.append((story, outcome))
    }
    return summarize(results, took: began.duration(to: .now), on: stage)
  }

  private static func tell(_ story: any Story, on stage: Stage) -> Outcome {
    Watchdog.start()
    defer { Watchdog.stop() }
    do {
      return try story.tell(on: stage)
    } catch {
      endIfShort(error)
      var outcome = Outcome()
      outcome.expect("the story could be told to its end", false, seen: "\(error)")
      return outcome
    }
  }

  private static func summarize(
    _ results: [(story: any Story, outcome: Outcome)], took: Duration, on stage: Stage
  ) -> Bool {
    let failures = results.count { !$0.outcome.cameOutAsTold }
    let checks = results.reduce(0) { $0 + $1.outcome.checks.count }
    stage.put("")
    stage.table(
      columns: [("story", 9), ("verdict", 8), ("measured", 53)],
      rows: results.map { result in
        let holds = result.outcome.cameOutAsTold
        return [
          .plain(result.story.name), holds ? .good("as told") : .bad("NOT SO"), .plain(result.outcome.figure),
        ]
      })
    let told = "\(results.count - failures) of \(results.count) as told"
    stage.put("")
    stage.put(
      " " + stage.styled(told, failures == 0 ? .green : .red)
        + ": \(checks) check\(checks == 1 ? "" : "s"), \(described(took)).")
    return failures == 0
  }
}

extension Demo {
  struct UsageError: Error {
    let message: String
  }

  /// What the command line asks for.
  struct Request {
    enum Kind {
      case help, list
      case tell([any Story])
    }

    let kind: Kind

    init(_ arguments: [String]) throws {
      var names: [String] = []
      var textFile: String?
      var rest = arguments[...]
      while let argument = rest.popFirst() {
        switch argument {
        case "--help", "-h":
          kind = .help
          return
        case "--list":
          kind = .list
          return
        case "--text":
          guard let path = rest.popFirst() else { throw UsageError(message: "--text needs a file name") }
          guard access(path, R_OK) == 0 else { throw UsageError(message: "cannot read \(path)") }
          textFile = path
        case _ where argument.hasPrefix("-"):
          throw UsageError(message: "unknown option \(argument)")
        default:
          names.append(argument)
        }
      }
      let stories = Demo.allStories(textFile: textFile)
      let known = stories.map(\.name)
      if let unknown = names.first(where: { !known.contains($0) }) {
        throw UsageError(message: "no story is called \(unknown); there are \(known.joined(separator: ", "))")
      }
      kind = .tell(names.isEmpty ? stories : stories.filter { names.contains($0.name) })
    }
  }

  /// Ends the process when a story does not end by itself: a demonstration must not hang a terminal.
  enum Watchdog {
    static let seconds: UInt32 = 90

    static func start() {
      signal(SIGALRM) { _ in  // write and _exit are async-signal-safe
        let message: StaticString = "\ndemo: this story did not end within 90 seconds\n"
        _ = write(STDERR_FILENO, message.utf8Start, message.utf8CodeUnitCount)
        _exit(1)
      }
      alarm(seconds)
    }

    static func stop() {
      alarm(0)
      signal(SIGALRM, SIG_DFL)
    }
  }
}
