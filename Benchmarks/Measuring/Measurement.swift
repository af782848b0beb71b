import CMeasure
import Histogram

/// What one process found out, and how it tells it to the runner: a line per figure, name and value.
package struct Measurement: Sendable {
  package private(set) var figures: [String: Double] = [:]

  package subscript(name: String) -> Double? { figures[name] }

  package init(wireForm: String) {
    for line in wireForm.split(separator: "\n") {
      let parts = line.split(separator: " ")
      if parts.count == 2, let value = Double(parts[1]) { figures[String(parts[0])] = value }
    }
  }

  package var wireForm: String { figures.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined() }

  /// Measures in this process, on a thread of its own unless that is to be the main one.
  ///
  /// - Throws: what `body` throws; `Failure.cannotCount` where system calls cannot be counted.
  package static func take(
    countsSystemCalls: Bool, isOnMain: Bool = false, _ body: (inout bench_result) throws -> Void
  ) throws -> Measurement {
    _ = bench_raise_descriptor_limit()
    return try withoutActuallyEscaping(body) { body in
      var job = Job(body: body, countsSystemCalls: countsSystemCalls)
      withUnsafeMutablePointer(to: &job) { job in
        if isOnMain { return job.pointee.run() }
        bench_on_thread({ $0!.assumingMemoryBound(to: Job.self).pointee.run() }, job)
      }
      if let error = job.error { throw error }
      return Measurement(job.result)
    }
  }

  private init(_ result: bench_result) {
    let operations = Double(result.operations)
    figures["operations"] = operations
    if result.elapsed_ns > 0 {
      figures["ns_per_op"] = Double(result.elapsed_ns) / operations
      figures["cpu_ns_per_op"] = Double(result.cpu_ns) / operations
    }
    if result.syscalls >= 0 { figures["syscalls_per_op"] = Double(result.syscalls) / operations }
    if result.waits >= 0 { figures["waits_per_op"] = Double(result.waits) / operations }
    if result.moves_per_op >= 0 { figures["moves_per_op"] = result.moves_per_op }
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
}

private struct Job {
  let body: (inout bench_result) throws -> Void
  let countsSystemCalls: Bool
  var result = bench_no_result()
  var error: (any Error)?

  mutating func run() {
    if countsSystemCalls, let reason = bench_enable_counting() {
      error = Failure("system calls: \(String(cString: reason))", status: Failure.cannotCount)
      return
    }
    do { try body(&result) } catch { self.error = error }
  }
}
