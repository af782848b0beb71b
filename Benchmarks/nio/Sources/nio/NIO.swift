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

/// A line per workload: its name, and what limits it.
struct List: ParsableCommand {
  func run() {
    for workload in Workloads.all {
      print(workload.limits.isEmpty ? workload.name : "\(workload.name) \(workload.limits)")
    }
  }
}

struct Measure: ParsableCommand {
  @OptionGroup var options: MeasureOptions

  func run() throws {
    guard let found = Workloads.all.first(where: { $0.name == options.workload }) else {
      throw Failure("no workload \(options.workload)")
    }
    let measurement = try Measurement.take(countsSystemCalls: options.countSystemCalls) { result in
      try found.run(options.args, &result)
    }
    print(measurement.wireForm, terminator: "")
  }
}
