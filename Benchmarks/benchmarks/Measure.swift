import ArgumentParser
import CMeasure
import Dispatch
import Measuring

/// One measurement in a process of its own; for the runner.
struct Measure: ParsableCommand {
  static let configuration = CommandConfiguration(shouldDisplay: false)

  @Option var subject: String
  @OptionGroup var options: MeasureOptions

  func run() throws {
    guard let found = Subject.all.first(where: { $0.name == subject }) else { throw Failure("no subject \(subject)") }
    if let absence = found.absence { throw Failure("\(found.name): \(absence)") }
    guard found.name == Subject.mainActor else { return try measure(found) }
    bench_pin(options.args.placement, 0)
    _ = LoopThread {
      do { try measure(found) } catch { Measure.exit(withError: error) }
      Measure.exit()
    }
    dispatchMain()
  }

  private func measure(_ found: Subject) throws {
    let measurement = try Measurement.take(
      countsSystemCalls: options.countSystemCalls, isOnMain: options.onMain
    ) { result in
      try found.run(options.workload, options.args, &result)
    }
    print(measurement.wireForm, terminator: "")
  }
}
