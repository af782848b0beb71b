import CPeers
import Glibc

/// Everything that was measured about one workload and one subject.
struct Series: Sendable {
  let workload: Workload
  let subject: Subject
  /// One per round; a round in which it failed has none.
  var rounds: [Int: Measurement] = [:]
  var systemCalls: Double?
  var instructions: Double?

  func value(in round: Int) -> Double? { rounds[round]?[workload.metric.rawValue] }
  var values: [Double] { rounds.keys.sorted().compactMap { value(in: $0) } }
  func median(of figure: String) -> Double? { Benchmark.median(rounds.values.compactMap { $0[figure] }) }
}

enum Benchmark {
  static func median(_ values: [Double]) -> Double? {
    guard !values.isEmpty else { return nil }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
  }
}

/// Runs the rounds: of each workload all subjects in turn, then again, each time in a new process.
final class Runner {
  private let selection: Selection
  private let rounds: Int
  private let isQuick: Bool
  private let countsInstructions: Bool
  private let progress = Progress()
  /// Without what the compiler tells debuggers, which valgrind may not understand.
  private lazy var plainProgram: String = {
    let copy = "/tmp/benchmarks.plain.\(getpid())"
    return Child.run(["strip", "--strip-debug", "-o", copy, Child.program], timeout: 60).status == 0
      ? copy : Child.program
  }()
  private var canCountSystemCalls = true
  private(set) var failures: Set<String> = []

  init(selection: Selection, rounds: Int, isQuick: Bool, countsInstructions: Bool) {
    self.selection = selection
    self.rounds = rounds
    self.isQuick = isQuick
    self.countsInstructions = countsInstructions
  }

  func measure() -> [Series] {
    for subject in selection.subjects {
      if let absence = subject.absence { progress.note("\(subject.name) is left out: \(absence)") }
    }
    let present = selection.subjects.filter { $0.absence == nil }
    var all: [Series] = []
    for (index, workload) in selection.workloads.enumerated() {
      let subjects = present.filter { $0.divisor(for: workload) != nil }
      let place = "[\(index + 1)/\(selection.workloads.count)] \(workload.label)"
      all += measure(workload, subjects, place)
    }
    progress.clear()
    if countsInstructions, plainProgram != Child.program { unlink(plainProgram) }
    return all
  }

  private func measure(_ workload: Workload, _ subjects: [Subject], _ place: String) -> [Series] {
    var series = subjects.map { Series(workload: workload, subject: $0) }
    for round in 0..<rounds {
      for index in series.indices where round == 0 || !series[index].rounds.isEmpty {
        progress.show("\(place): round \(round + 1)/\(rounds), \(series[index].subject.name)")
        series[index].rounds[round] = run(series[index], [])
      }
    }
    guard workload.metric != .memory else { return series }
    for index in series.indices where canCountSystemCalls && !series[index].rounds.isEmpty {
      progress.show("\(place): system calls, \(series[index].subject.name)")
      series[index].systemCalls = run(series[index], ["--count-system-calls"])?["syscalls_per_op"]
    }
    for index in series.indices where countsInstructions && !series[index].rounds.isEmpty {
      progress.show("\(place): instructions, \(series[index].subject.name)")
      series[index].instructions = countInstructions(series[index])
    }
    return series
  }

  private func command(_ series: Series, divisor: Int64) -> [String] {
    let (workload, subject) = (series.workload, series.subject)
    let args = workload.args(divisor: divisor * (subject.divisor(for: workload) ?? 1))
    return [
      Child.program, "measure", subject.name, workload.name, "\(args.count)", "\(args.size)", "\(args.active)",
      "\(args.placement)",
    ]
  }

  private func run(_ series: Series, _ options: [String]) -> Measurement? {
    let command = command(series, divisor: isQuick ? series.workload.quickDivisor : 1) + options
    let (status, output) = Child.run(command, timeout: 60)
    if status == 0 { return Measurement(wireForm: output) }
    if status == Failure.cannotCount {
      canCountSystemCalls = false
      return nil
    }
    fail(series, status)
    return nil
  }

  private func fail(_ series: Series, _ status: Int32) {
    let what = "\(series.workload.label), \(series.subject.name)"
    let how =
      status == 128 + SIGKILL ? "took more than a minute" : status > 128 ? "signal \(status - 128)" : "exit \(status)"
    if failures.insert(what).inserted { progress.note("\(what): failed (\(how))") }
  }

  /// Under callgrind, with the quick run's operations.
  private func countInstructions(_ series: Series) -> Double? {
    let file = "/tmp/benchmarks.callgrind.\(getpid())"
    defer { unlink(file) }
    let valgrind = [
      "valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=\(file)",
    ]
    var program = command(series, divisor: series.workload.quickDivisor)
    program[0] = plainProgram
    let (status, output) = Child.run(valgrind + program, timeout: 120)
    let total = bench_callgrind_total(file)
    guard status == 0, total >= 0, let operations = Measurement(wireForm: output)["operations"] else {
      progress.note("\(series.workload.label), \(series.subject.name): no instruction count (exit \(status))")
      return nil
    }
    return Double(total) / operations
  }
}

enum Child {
  /// The path of this program, which valgrind must be told: under it /proc/self/exe is valgrind.
  static let program: String = {
    var buffer = [CChar](repeating: 0, count: 4096)
    let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
    guard length > 0 else { return CommandLine.arguments[0] }
    return String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }()

  static func run(_ command: [String], timeout: UInt32) -> (status: Int32, output: String) {
    var arguments = command.map { strdup($0) }
    arguments.append(nil)
    defer { for argument in arguments { free(argument) } }
    var output = [CChar](repeating: 0, count: 16384)
    let status = bench_run_child(&arguments, timeout, &output, output.count)
    let bytes = output.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return (status, String(decoding: bytes, as: UTF8.self))
  }
}

/// One line on the terminal's standard error, rewritten; nothing if it is none. Notes stay.
final class Progress {
  private let columns = Int(bench_terminal_columns())

  func show(_ text: String) {
    guard columns > 0 else { return }
    write("\r\u{1B}[K" + text.prefix(columns - 1))
  }

  func clear() { if columns > 0 { write("\r\u{1B}[K") } }

  func note(_ text: String) {
    clear()
    write("benchmarks: \(text)\n")
  }

  private func write(_ text: String) { text.withCString { _ = Glibc.write(STDERR_FILENO, $0, strlen($0)) } }
}
