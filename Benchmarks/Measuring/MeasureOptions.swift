import ArgumentParser
import CMeasure

/// One measurement in a process of its own: `measure WORKLOAD --count N ...`, as the runner asks for it.
package struct MeasureOptions: ParsableArguments {
  @Argument package var workload: String
  @Option var count: Int64 = 0
  @Option var size: Int64 = 0
  @Option var active: Int64 = 0
  @Option var placement: Int64 = 0
  @Option var windowMs: Int64 = 0
  @Option var toleranceUs: Int64 = 0
  @Option var spinUs: Int64 = 0
  @Option var pending: Int64 = 0
  @Flag package var countSystemCalls = false
  @Flag package var onMain = false

  package init() {}

  package var args: bench_args {
    bench_args(
      count: count, size: size, active: active, placement: placement, window_ms: windowMs, tolerance_us: toleranceUs,
      spin_us: spinUs, pending: pending)
  }

  /// What asks for `args`; those that are 0 are left out.
  package static func words(_ workload: String, _ args: bench_args, isOnMain: Bool) -> [String] {
    let named: [(String, Int64)] = [
      ("count", args.count), ("size", args.size), ("active", args.active), ("placement", args.placement),
      ("window-ms", args.window_ms), ("tolerance-us", args.tolerance_us), ("spin-us", args.spin_us),
      ("pending", args.pending),
    ]
    let place = isOnMain ? ["--on-main"] : []
    return ["measure", workload] + place + named.filter { $0.1 != 0 }.flatMap { ["--\($0.0)", "\($0.1)"] }
  }
}
