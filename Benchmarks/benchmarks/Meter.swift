import CMeasure
import Glibc
import Measuring

/// Takes one measurement at a time, each in a new process.
final class Meter {
  private let isQuick: Bool
  private let progress: Progress
  /// Without what the compiler tells debuggers, which valgrind may not understand.
  private var plainPrograms: [String: String] = [:]
  private(set) var canCountSystemCalls = true
  private(set) var failures: Set<String> = []

  init(isQuick: Bool, progress: Progress) {
    self.isQuick = isQuick
    self.progress = progress
  }

  deinit { for (program, plain) in plainPrograms where plain != program { unlink(plain) } }

  /// Per operation, under callgrind.
  struct Instructions {
    let instructions: Double
    let allocations: Double
    let operations: Double
  }

  static let lacksValgrind: String? = {
    if !bench_can_count_instructions() {
      return "built without <valgrind/callgrind.h> (install valgrind and build again)"
    }
    return Child.run(["valgrind", "--version"], timeout: 10).status == 0 ? nil : "valgrind is not installed"
  }()

  func time(_ workload: Workload, _ subject: Subject) -> Measurement? { run(workload, subject, []) }

  func countSystemCalls(_ workload: Workload, _ subject: Subject) -> Measurement? {
    canCountSystemCalls ? run(workload, subject, ["--count-system-calls"]) : nil
  }

  private func run(_ workload: Workload, _ subject: Subject, _ options: [String]) -> Measurement? {
    let (status, output) = Child.run(command(workload, subject, isQuick: isQuick) + options, timeout: 60)
    if status == 0 { return Measurement(wireForm: output) }
    if status == Failure.cannotCount {
      canCountSystemCalls = false
      progress.note("system calls are not counted: they take root and the kernel's tracepoint")
    } else {
      fail("\(workload.label), \(subject.name)", status)
    }
    return nil
  }

  private func command(_ workload: Workload, _ subject: Subject, isQuick: Bool) -> [String] {
    let args = workload.args(divisor: subject.divisor(for: workload) ?? 1, isQuick: isQuick)
    let words = MeasureOptions.words(workload.name, args, isOnMain: workload.isOnMain)
    if case .program(let program) = subject.kind { return [program.path ?? subject.name] + words }
    return [Child.program] + words + ["--subject", subject.name]
  }

  private func fail(_ what: String, _ status: Int32) {
    let how =
      status == 128 + SIGKILL ? "took more than a minute" : status > 128 ? "signal \(status - 128)" : "exit \(status)"
    if failures.insert(what).inserted { progress.note("\(what): failed (\(how))") }
  }

  /// Under callgrind, with the quick run's operations: instructions, and calls of malloc and its kin.
  func countInstructions(_ workload: Workload, _ subject: Subject) -> Instructions? {
    let file = "/tmp/benchmarks.callgrind.\(getpid())"
    defer { unlink(file) }
    var command = command(workload, subject, isQuick: true)
    command[0] = plain(command[0])
    let valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=\(file)"]
    // Else each process has a seed of its own, and with it other collisions in its tables.
    let seeded = ["env", "SWIFT_DETERMINISTIC_HASHING=1"]
    let (status, output) = Child.run(seeded + valgrind + command, timeout: 180)
    var (instructions, allocations): (Int64, Int64) = (0, 0)
    guard status == 0, bench_callgrind_read(file, &instructions, &allocations),
      let operations = Measurement(wireForm: output)["operations"]
    else {
      progress.note("\(workload.label), \(subject.name): no instruction count (exit \(status))")
      return nil
    }
    return Instructions(
      instructions: Double(instructions) / operations, allocations: Double(allocations) / operations,
      operations: operations)
  }

  private func plain(_ program: String) -> String {
    if let known = plainPrograms[program] { return known }
    let copy = "/tmp/benchmarks.plain.\(getpid()).\(plainPrograms.count)"
    let isMade = Child.run(["strip", "--strip-debug", "-o", copy, program], timeout: 60).status == 0
    plainPrograms[program] = isMade ? copy : program
    return isMade ? copy : program
  }
}
