import ArgumentParser
import Measuring

/// Judges what no machine's mood moves: `benchmarks counts`.
struct Counts: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Judges RunLoopKit's counts (system calls, instructions, allocations, memory) by their gates.",
    discussion: "A count that cannot be taken here (no valgrind, no tracepoint) is said to be skipped.")

  static let usualTargets = "Benchmarks/targets.txt"

  @Option(help: ArgumentHelp("The gates.", valueName: "file"))
  var targets = Counts.usualTargets
  /// Where `--workloads` is.
  @ParentCommand var suite: Benchmarks
  @Flag(help: "Write the gates: the target where it is reached, else what is measured.")
  var record = false

  func run() throws {
    var targets = try Targets(path: self.targets)
    let selection = try Selection(workloads: suite.workloads, subjects: nil, among: Workload.standard, isQuick: false)
    let progress = Progress()
    let counter = Counter(meter: Meter(isQuick: true, progress: progress), progress: progress)
    var verdicts: [Verdict] = []
    for workload in selection.workloads {
      for target in targets.all where target.workload == workload.label {
        guard case .count(let count) = target.figure else { continue }
        verdicts.append(counter.judge(target, count, workload))
      }
    }
    progress.clear()
    if record {
      targets.record { target in verdicts.first { $0.target == target }?.recorded }
      try targets.write()
    }
    print(CountsTable(verdicts, isRecorded: record).text, terminator: "")
    if !record && verdicts.contains(where: { $0.outcome == .failed }) { throw ExitCode(1) }
  }
}

/// How a count stands to its gate.
struct Verdict {
  enum Outcome: Equatable { case passed, failed, skipped(String) }

  let target: Target
  let measured: Double?
  let outcome: Outcome
  /// What its gate would be if it was written now.
  var recorded: Double?
  var reachesTarget = false
  /// The most that its gate lets pass.
  var limit: Double?
}

/// Counts what the targets ask for, each figure once.
final class Counter {
  private let meter: Meter
  private let progress: Progress
  private var calls: [String: Measurement?] = [:]
  private var times: [String: Measurement?] = [:]
  private var instructions: [String: Meter.Instructions?] = [:]

  init(meter: Meter, progress: Progress) {
    self.meter = meter
    self.progress = progress
  }

  func judge(_ target: Target, _ count: Target.Count, _ workload: Workload) -> Verdict {
    guard let subject = Subject.all.first(where: { $0.name == target.subject }) else { fatalError(target.subject) }
    progress.show("\(workload.label), \(subject.name): \(count.rawValue)")
    let varies = workload.varies(count)
    var sample = sample(count, workload, subject)
    if let first = sample, let gate = target.gate, varies,
      !Gate.holds(count, gate, first, varies: varies)
    {
      forget(workload, subject)
      sample = self.sample(count, workload, subject).map { $0.value < first.value ? $0 : first }
    }
    guard let sample else {
      return Verdict(target: target, measured: nil, outcome: .skipped(reason(count)))
    }
    let isHeld = target.gate.map { Gate.holds(count, $0, sample, varies: varies) }
    let recorded = Gate.recorded(count, target: target.target, sample, varies: varies)
    let outcome: Verdict.Outcome = isHeld == nil ? .skipped("no gate yet") : isHeld! ? .passed : .failed
    return Verdict(
      target: target, measured: sample.value, outcome: outcome, recorded: recorded,
      reachesTarget: target.target.map { Gate.reaches(count, $0, sample) } ?? false,
      limit: target.gate.map { Gate.limit(count, $0, sample, varies: varies) })
  }

  private func sample(_ count: Target.Count, _ workload: Workload, _ subject: Subject) -> Gate.Sample? {
    switch count {
    case .systemCalls:
      let counted = systemCalls(workload, subject)
      return Self.sample(counted?["syscalls_per_op"], counted)
    case .systemCallsPerWait:
      let counted = systemCalls(workload, subject)
      guard let calls = counted?["syscalls_per_op"], let waits = counted?["waits_per_op"], waits > 0 else { return nil }
      return Self.sample(calls / waits, counted)
    case .instructions:
      return instructions(workload, subject).map { Gate.Sample(value: $0.instructions, operations: $0.operations) }
    case .allocations:
      return instructions(workload, subject).map { Gate.Sample(value: $0.allocations, operations: $0.operations) }
    case .instructionsPerItem:
      guard let with = instructions(workload, subject),
        let base = Workload.standard.first(where: { $0.name == workload.name && $0.parameters.size == 0 }),
        let without = instructions(base, subject)
      else { return nil }
      let perItem = (with.instructions - without.instructions) / Double(workload.parameters.size)
      return Gate.Sample(value: perItem, operations: with.operations)
    case .bytes: return Self.sample(time(workload, subject)?["bytes_per_item"], time(workload, subject))
    case .descriptors: return Self.sample(time(workload, subject)?["descriptors_per_item"], time(workload, subject))
    case .moves: return Self.sample(time(workload, subject)?["moves_per_op"], time(workload, subject))
    }
  }

  private static func sample(_ value: Double?, _ measurement: Measurement?) -> Gate.Sample? {
    guard let value, let operations = measurement?["operations"] else { return nil }
    return Gate.Sample(value: value, operations: operations)
  }

  private func key(_ workload: Workload, _ subject: Subject) -> String { "\(workload.label), \(subject.name)" }

  private func forget(_ workload: Workload, _ subject: Subject) {
    calls[key(workload, subject)] = nil
    instructions[key(workload, subject)] = nil
  }

  private func systemCalls(_ workload: Workload, _ subject: Subject) -> Measurement? {
    if let known = calls[key(workload, subject)] { return known }
    let counted = meter.countSystemCalls(workload.judged, subject)
    calls[key(workload, subject)] = .some(counted)
    return counted
  }

  private func instructions(_ workload: Workload, _ subject: Subject) -> Meter.Instructions? {
    guard Meter.lacksValgrind == nil else { return nil }
    if let known = instructions[key(workload, subject)] { return known }
    let counted = meter.countInstructions(workload, subject)
    instructions[key(workload, subject)] = .some(counted)
    return counted
  }

  private func time(_ workload: Workload, _ subject: Subject) -> Measurement? {
    if let known = times[key(workload, subject)] { return known }
    let measured = meter.time(workload, subject)
    times[key(workload, subject)] = .some(measured)
    return measured
  }

  private func reason(_ count: Target.Count) -> String {
    switch count {
    case .instructions, .instructionsPerItem, .allocations: Meter.lacksValgrind ?? "not measured"
    case .systemCalls, .systemCallsPerWait:
      meter.canCountSystemCalls ? "not measured" : "system calls cannot be counted here"
    case .bytes, .descriptors, .moves: "not measured"
    }
  }
}
