import ArgumentParser
import CMeasure
import Glibc
import Measuring

@main
struct Benchmarks: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "benchmarks",
    abstract: "Measures RunLoopKit against a floor in C and against the event loops that are installed.",
    discussion: """
      Every figure is the median of interleaved rounds, each subject in a process of its own; ratios are medians of the \
      rounds' ratios. System calls are exact (the kernel's tracepoint; needs root). docs/PERFORMANCE.md says how to read \
      the table.
      """,
    subcommands: [Counts.self, Measure.self, Far.self])

  /// A wrong argument or name: 2. Something could not be measured: 1.
  static func main() {
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch let failure as Failure {
      Progress().note(failure.description)
      Glibc.exit(failure.status)
    } catch {
      let code = exitCode(for: error)
      if code == .success { return print(fullMessage(for: error)) }
      let message = fullMessage(for: error)
      if !message.isEmpty { Progress().note(message) }
      Glibc.exit(code == .validationFailure ? 2 : code.rawValue)
    }
  }

  @Flag(help: "Fewer operations, 3 rounds, no long workloads: less than a minute.")
  var quick = false
  @Option(help: ArgumentHelp("Only these, by name or by name and arguments, separated by commas.", valueName: "list"))
  var workloads: String?
  @Option(help: ArgumentHelp("Only these, separated by commas.", valueName: "list"))
  var subjects: String?
  @Option(help: ArgumentHelp("How many rounds. (default: 7, quick: 3)", valueName: "count"))
  var rounds: Int?
  @Option(help: ArgumentHelp("Also write all figures to a file, which scripts/plot draws.", valueName: "file"))
  var json: String?
  @Option(help: ArgumentHelp("Also write the targets that are reached into a document.", valueName: "file"))
  var document: String?
  @Flag(help: "Also count instructions, under valgrind; slow.")
  var instructions = false
  @Flag(help: "Measure how costs grow, instead: with timers, descriptors, modes, observers, threads.")
  var growth = false
  @Flag(help: "Print the names of workloads and subjects.")
  var list = false

  func validate() throws {
    if let rounds, rounds < 1 { throw ValidationError("--rounds must be at least 1") }
    if growth, document != nil { throw ValidationError("--document has no place for --growth") }
  }

  func run() throws {
    if list { return Listing.print() }
    let selection = try Selection(
      workloads: workloads, subjects: subjects, among: growth ? Workload.growing : Workload.standard, isQuick: quick)
    if instructions, let reason = Meter.lacksValgrind { throw Failure("--instructions: \(reason)") }
    let progress = Progress()
    let meter = Meter(isQuick: quick, progress: progress)
    let runner = Runner(
      selection: selection, rounds: rounds ?? (quick ? 3 : 7), countsInstructions: instructions, meter: meter,
      progress: progress)
    let summary = Summary(runner.measure())
    print(Table(summary).text, terminator: "")
    if let json { try Export.write(summary, to: json) }
    if let document {
      try Document.write(summary, Targets(path: Counts.usualTargets), to: document)
    }
    if !meter.failures.isEmpty { throw ExitCode(1) }
  }
}
