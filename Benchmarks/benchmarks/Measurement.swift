import CPeers
import Glibc
import Histogram

/// What one process found out, and how it tells it to the runner: a line per figure, name and value.
struct Measurement: Sendable {
  private(set) var figures: [String: Double] = [:]

  subscript(name: String) -> Double? { figures[name] }

  init(wireForm: String) {
    for line in wireForm.split(separator: "\n") {
      let parts = line.split(separator: " ")
      if parts.count == 2, let value = Double(parts[1]) { figures[String(parts[0])] = value }
    }
  }

  var wireForm: String { figures.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined() }

  private init(_ result: bench_result) {
    let operations = Double(result.operations)
    if result.elapsed_ns > 0 {
      figures["ns_per_op"] = Double(result.elapsed_ns) / operations
      figures["cpu_ns_per_op"] = Double(result.cpu_ns) / operations
    }
    figures["operations"] = operations
    if result.syscalls >= 0 { figures["syscalls_per_op"] = Double(result.syscalls) / operations }
    if result.bytes_per_item >= 0 {
      figures["bytes_per_item"] = result.bytes_per_item
      figures["rss_per_item"] = result.rss_per_item
      figures["descriptors_per_item"] = result.descriptors_per_item
    }
    if result.sample_count == 1 { figures["drift_ns"] = Double(result.samples[0]) }
    if result.sample_count > 1 { addLatencies(result) }
  }

  private mutating func addLatencies(_ result: bench_result) {
    var histogram = Histogram<UInt64>(numberOfSignificantValueDigits: .three)
    for index in 0..<result.sample_count { histogram.record(UInt64(result.samples[index])) }
    figures["p50_ns"] = Double(histogram.valueAtPercentile(50))
    figures["p99_ns"] = Double(histogram.valueAtPercentile(99))
    figures["max_ns"] = Double(histogram.max)
  }

  /// Runs the workload in this process, on a thread of its own.
  static func take(
    _ subject: Subject, _ workload: String, _ args: bench_args, countsSystemCalls: Bool
  ) throws -> Measurement {
    if let absence = subject.absence { throw Failure("\(subject.name): \(absence)") }
    _ = bench_raise_descriptor_limit()
    var job = Job(subject: subject, workload: workload, args: args, countsSystemCalls: countsSystemCalls)
    withUnsafeMutablePointer(to: &job) { job in
      bench_on_thread({ $0!.assumingMemoryBound(to: Job.self).pointee.run() }, job)
    }
    if let error = job.error { throw error }
    return Measurement(job.result)
  }
}

private struct Job {
  let subject: Subject
  let workload: String
  let args: bench_args
  let countsSystemCalls: Bool
  var result = bench_result()
  var error: (any Error)?

  mutating func run() {
    result.bytes_per_item = -1
    result.syscalls = -1
    if countsSystemCalls, let reason = bench_enable_counting() {
      error = Failure("system calls: \(String(cString: reason))", status: Failure.cannotCount)
      return
    }
    do { try subject.run(workload, args, &result) } catch { self.error = error }
  }
}
