import CMeasure
import CPeers
import Measuring

/// What is measured: RunLoopKit's Swift API, one of the subjects in C, or another program that speaks as this one does.
struct Subject: Sendable {
  enum Kind: Sendable {
    /// In Swift, here.
    case closures([String: Overlay.Body], spins: Bool)
    case native(index: Int)
    case program(Program)
  }

  let name: String
  let title: String
  /// What is missing of another program.
  private let programAbsence: String?
  let kind: Kind

  init(name: String, title: String, absence: String?, kind: Kind) {
    (self.name, self.title, programAbsence, self.kind) = (name, title, absence, kind)
  }

  /// What is missing; nil if it can be measured. Loads its library, if it has one: in the process that measures it and no
  /// other, since each library costs every thread memory and time.
  var absence: String? {
    guard case .native(let index) = kind else { return programAbsence }
    return bench_subject_at(index).pointee.load().map { String(cString: $0) }
  }

  static let floor = "floor"
  static let core = "core"
  static let overlay = "overlay"
  /// Its workloads need a main thread that serves libdispatch's main queue.
  static let mainActor = "main"
  static let ours: Set<String> = [core, overlay]
  var isPeer: Bool { name != Self.floor && !Self.ours.contains(name) }

  /// In the order of the table.
  static let all: [Subject] = {
    var subjects: [Subject] = []
    var index = 0
    while let native = bench_subject_at(index) {
      subjects.append(
        Subject(
          name: String(cString: native.pointee.name), title: String(cString: native.pointee.title), absence: nil,
          kind: .native(index: index)))
      index += 1
    }
    let overlay = Subject(
      name: Self.overlay, title: "RunLoopKit's Swift API, closures", absence: nil,
      kind: .closures(Overlay.workloads, spins: true))
    subjects.insert(overlay, at: 2)
    subjects.append(
      Subject(
        name: "tasks", title: "Swift's default executor, Task.sleep and AsyncStream", absence: nil,
        kind: .closures(Concurrency.ofDefaultExecutor, spins: false)))
    subjects.append(
      Subject(
        name: mainActor, title: "the main actor, on libdispatch's main queue", absence: nil,
        kind: .closures(Concurrency.ofMainActor, spins: false)))
    subjects.append(contentsOf: Program.all.map(\.entry))
    return subjects
  }()

  /// How much fewer operations it does of this workload; nil if it has none such.
  func divisor(for workload: Workload) -> Int64? {
    if workload.isOnMain && !servesMainQueue { return nil }
    guard let ability = ability(for: workload.name), ability.covers(workload.parameters) else { return nil }
    return max(ability.divisor, 1)
  }

  /// The others are on the main thread what they are on any.
  private var servesMainQueue: Bool { name == Self.overlay || name == "cf" }

  private func ability(for workload: String) -> Ability? {
    switch kind {
    case .closures(let workloads, let spins):
      return workloads[workload] == nil ? nil : Ability(pends: true, spins: spins)
    case .program(let program): return program.abilities[workload]
    case .native(let index):
      guard let found = bench_find_workload(bench_subject_at(index), workload)?.pointee else { return nil }
      return Ability(
        divisor: found.divisor, largest: found.largest, onlyWithout: found.only_without, onlyOneCPU: found.only_one_cpu,
        onlyExact: found.only_exact, onlyTolerant: found.only_tolerant, pends: found.pends,
        spins: found.spins)
    }
  }

  /// On a thread of its own, in a process of its own.
  func run(_ workload: String, _ args: bench_args, _ result: inout bench_result) throws {
    switch kind {
    case .closures(let workloads, _):
      try workloads[workload]?(args, &result)
    case .native(let index):
      var args = args
      bench_find_workload(bench_subject_at(index), workload)?.pointee.run(&args, &result)
    case .program:
      throw Failure("\(name): measured by a program of its own")
    }
  }
}
