import ArgumentParser
import CPeers
import Glibc

@main
struct Benchmarks: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "benchmarks",
    abstract: "Measures RunLoopKit against a floor in C and against the event loops that are installed.",
    discussion: """
      Every figure is the median of interleaved rounds, each subject in a process of its own; ratios are medians of the
      rounds' ratios. System calls are exact (the kernel's tracepoint; needs root). docs/PERFORMANCE.md says how to read
      the table.
      """,
    subcommands: [Measure.self])

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

  @Flag(help: "Fewer operations and 3 rounds: less than a minute.")
  var quick = false
  @Option(help: ArgumentHelp("Only these, by name or by name and arguments, separated by commas.", valueName: "list"))
  var workloads: String?
  @Option(help: ArgumentHelp("Only these, separated by commas.", valueName: "list"))
  var subjects: String?
  @Option(help: ArgumentHelp("How many rounds. (default: 7, quick: 3)", valueName: "count"))
  var rounds: Int?
  @Option(help: ArgumentHelp("Also write all figures to a file.", valueName: "file"))
  var json: String?
  @Option(help: ArgumentHelp("Also draw a chart per workload, and one of all.", valueName: "folder"))
  var plot: String?
  @Flag(help: "Also count instructions, under valgrind; slow.")
  var instructions = false
  @Flag(help: "Print the names of workloads and subjects.")
  var list = false

  func validate() throws {
    if let rounds, rounds < 1 { throw ValidationError("--rounds must be at least 1") }
  }

  func run() throws {
    if list { return Listing.print() }
    let selection = try Selection(workloads: workloads, subjects: subjects)
    if instructions && !bench_can_count_instructions() {
      throw Failure("--instructions: built without <valgrind/callgrind.h> (install valgrind and build again)")
    }
    let runner = Runner(
      selection: selection, rounds: rounds ?? (quick ? 3 : 7), isQuick: quick, countsInstructions: instructions)
    let summary = Summary(runner.measure())
    print(Table(summary).text, terminator: "")
    if let json { try Export.write(summary, to: json) }
    if let plot { try Plots.write(summary, to: plot) }
    if !runner.failures.isEmpty { throw ExitCode(1) }
  }
}

/// One measurement in a process of its own; for the runner.
struct Measure: ParsableCommand {
  static let configuration = CommandConfiguration(shouldDisplay: false)

  @Argument var subject: String
  @Argument var workload: String
  @Argument var count: Int64
  @Argument var size: Int64
  @Argument var active: Int64
  @Argument var placement: Int64
  @Flag var countSystemCalls = false

  func run() throws {
    guard let found = Subject.all.first(where: { $0.name == subject }) else { throw Failure("no subject \(subject)") }
    let args = bench_args(count: count, size: size, active: active, placement: placement)
    print(try Measurement.take(found, workload, args, countsSystemCalls: countSystemCalls).wireForm, terminator: "")
  }
}

/// What is printed, and ends the program.
struct Failure: Error, CustomStringConvertible {
  let description: String
  let status: Int32

  /// The exit status of a process that may not count system calls.
  static let cannotCount: Int32 = 3

  init(_ description: String, status: Int32 = 2) {
    self.description = description
    self.status = status
  }
}
