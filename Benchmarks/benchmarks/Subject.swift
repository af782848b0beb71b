import CPeers

/// What is measured: RunLoopKit's Swift API, or one of the subjects in C.
struct Subject: Sendable {
  enum Kind: Sendable {
    case overlay
    case native(index: Int)
  }

  let name: String
  let title: String
  /// What is missing; nil if it can be measured.
  let absence: String?
  private let kind: Kind

  static let floor = "floor"
  static let ours: Set<String> = ["core", "overlay"]
  var isPeer: Bool { name != Self.floor && !Self.ours.contains(name) }

  /// In the order of the table.
  static let all: [Subject] = {
    var subjects: [Subject] = []
    var index = 0
    while let native = bench_subject_at(index) {
      let absence = native.pointee.load().map { String(cString: $0) }
      subjects.append(
        Subject(
          name: String(cString: native.pointee.name), title: String(cString: native.pointee.title), absence: absence,
          kind: .native(index: index)))
      index += 1
    }
    let overlay = Subject(name: "overlay", title: "RunLoopKit's Swift API, closures", absence: nil, kind: .overlay)
    subjects.insert(overlay, at: 2)
    return subjects
  }()

  /// How much fewer operations it does of this workload; nil if it has none such.
  func divisor(for workload: Workload) -> Int64? {
    switch kind {
    case .overlay:
      return Overlay.workloads[workload.name] == nil ? nil : 1
    case .native(let index):
      guard let found = bench_find_workload(bench_subject_at(index), workload.name)?.pointee else { return nil }
      if found.only_without && workload.size != 0 { return nil }
      if found.only_one_cpu && workload.placement != BENCH_SAME_CPU { return nil }
      if found.largest != 0 && workload.size > found.largest { return nil }
      return max(found.divisor, 1)
    }
  }

  /// On a thread of its own, in a process of its own.
  func run(_ workload: String, _ args: bench_args, _ result: inout bench_result) throws {
    switch kind {
    case .overlay:
      try Overlay.workloads[workload]?(args, &result)
    case .native(let index):
      var args = args
      bench_find_workload(bench_subject_at(index), workload)?.pointee.run(&args, &result)
    }
  }
}
