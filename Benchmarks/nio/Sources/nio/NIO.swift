import ArgumentParser
import CMeasure
import Glibc
import Measuring

/// SwiftNIO, measured as the benchmarks' other subjects are; what the runner asks for is in Measuring.
@main
struct NIO: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "nio", abstract: "Measures SwiftNIO for RunLoopKit's benchmarks, which run it.",
    subcommands: [List.self, Measure.self])

  static func main() {
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch let failure as Failure {
      "nio: \(failure.description)\n".withCString { _ = write(STDERR_FILENO, $0, strlen($0)) }
      Glibc.exit(failure.status)
    } catch {
      exit(withError: error)
    }
  }
}

/// A line per workload: its name.
struct List: ParsableCommand {
  func run() { for name in Workloads.all.keys.sorted() { print(name) } }
}

struct Measure: ParsableCommand {
  @OptionGroup var options: MeasureOptions

  func run() throws {
    guard let run = Workloads.all[options.workload] else { throw Failure("no workload \(options.workload)") }
    let measurement = try Measurement.take(countsSystemCalls: options.countSystemCalls) { result in
      try run(options.args, &result)
    }
    print(measurement.wireForm, terminator: "")
  }
}
