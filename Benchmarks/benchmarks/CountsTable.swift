/// The verdicts as text: what failed or is new first to see, then how many of each.
struct CountsTable {
  let text: String

  init(_ verdicts: [Verdict], isRecorded: Bool) {
    var lines = [Self.row("", "", "", "measured", "gate", "limit", "target", "")]
    for verdict in verdicts {
      let target = verdict.target
      let gate = isRecorded ? verdict.recorded : target.gate
      lines.append(
        Self.row(
          target.workload, target.subject, target.figureName, verdict.measured.map(Figure.count) ?? "",
          gate.map(Target.text) ?? "-", verdict.limit.map(Figure.count) ?? "-", target.target.map(Target.text) ?? "-",
          isRecorded ? Self.change(verdict) : Self.word(verdict.outcome)))
    }
    let reasons = Set(verdicts.compactMap { Self.reason($0.outcome) }).sorted()
    for reason in reasons {
      lines.append("skipped \(verdicts.filter { Self.reason($0.outcome) == reason }.count): \(reason)")
    }
    let reached = verdicts.filter { $0.target.target != nil && $0.measured != nil }
    let within = reached.filter(\.reachesTarget)
    lines.append("\(within.count) of \(reached.count) counts with a target reach it")
    for verdict in verdicts where verdict.outcome == .failed && !isRecorded {
      let target = verdict.target
      lines.append("FAILED: \(target.workload), \(target.subject), \(target.figureName): beyond its gate")
    }
    if !isRecorded { lines.append(Self.sum(verdicts)) }
    text = lines.map { $0 + "\n" }.joined()
  }

  private static func sum(_ verdicts: [Verdict]) -> String {
    let passed = verdicts.filter { $0.outcome == .passed }.count
    let failed = verdicts.filter { $0.outcome == .failed }.count
    return "\(passed) passed, \(failed) failed, \(verdicts.count - passed - failed) skipped"
  }

  private static func row(_ columns: String...) -> String {
    let widths = [27, 9, 18, -10, -10, -10, -10]
    var line = ""
    for (column, width) in zip(columns, widths) {
      line += width > 0 ? column.padded(to: width) : column.aligned(to: -width)
    }
    return line + (columns.last!.isEmpty ? "" : "  \(columns.last!)")
  }

  private static func word(_ outcome: Verdict.Outcome) -> String {
    switch outcome {
    case .passed: ""
    case .failed: "FAILED"
    case .skipped: "skipped"
    }
  }

  private static func change(_ verdict: Verdict) -> String {
    guard let now = verdict.recorded, let before = verdict.target.gate, now != before else { return "" }
    return now > before ? "was \(Target.text(before)): WORSE" : "was \(Target.text(before))"
  }

  private static func reason(_ outcome: Verdict.Outcome) -> String? {
    if case .skipped(let reason) = outcome { reason } else { nil }
  }
}
