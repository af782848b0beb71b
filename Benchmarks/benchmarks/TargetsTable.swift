/// Benchmarks/targets.txt against a run, as Markdown: a line per workload and subject, what is reached, what is near,
/// and what is not reached. Near are a ratio above its target by 15 % at most, and a count above it by what a region
/// begins with.
struct TargetsTable {
  private(set) var reached = 0
  private(set) var near = 0
  private(set) var judged = 0
  private(set) var text = ""

  private let summary: Summary

  init(_ targets: [Target], _ summary: Summary) {
    self.summary = summary
    var lines: [String] = []
    var seen: Set<String> = []
    for first in targets where seen.insert("\(first.workload), \(first.subject)").inserted {
      let group = targets.filter { $0.workload == first.workload && $0.subject == first.subject }
      if let line = line("\(first.workload), \(first.subject)", group) { lines.append(line) }
    }
    text =
      "| workload | reached | near | not reached |\n|---|---|---|---|\n" + lines.map { $0 + "\n" }.joined()
  }

  private mutating func line(_ name: String, _ targets: [Target]) -> String? {
    var (within, close, beyond): ([String], [String], [String]) = ([], [], [])
    for each in targets {
      guard let limit = each.target, let value = value(each) else { continue }
      let (name, figure) = (each.figureName, Self.text(value))
      judged += 1
      if value <= limit {
        reached += 1
        within.append("\(name) \(figure) (\(Target.text(limit)))")
      } else if isNear(each, limit, value) {
        near += 1
        close.append("\(name) \(figure) (\(Target.text(limit)))")
      } else {
        beyond.append("\(name) **\(figure)** (\(Target.text(limit)))")
      }
    }
    if within.isEmpty && close.isEmpty && beyond.isEmpty { return nil }
    let columns = [within, close, beyond].map { $0.joined(separator: ", ") }
    return "| \(name) | \(columns.joined(separator: " | ")) |"
  }

  private static func text(_ value: Double) -> String {
    value < 0.1 && value > 0 ? Figure.significant(value) : Figure.plain(value)
  }

  private func isNear(_ target: Target, _ limit: Double, _ value: Double) -> Bool {
    guard case .count(let count) = target.figure else { return value <= limit * 1.15 }
    let operations = cell(target.workload, target.subject)?.counts.operations ?? 1
    return Gate.reaches(count, limit, Gate.Sample(value: value, operations: operations))
  }

  private func cell(_ workload: String, _ subject: String) -> Summary.Cell? {
    summary.cells.first { $0.workload.label == workload && $0.subject.name == subject }
  }

  private func value(_ target: Target) -> Double? {
    guard let cell = cell(target.workload, target.subject) else { return nil }
    switch target.figure {
    case .count(let count): return self.count(count, cell)
    case .times("best"): return cell.ratioToBestPeer
    case .times(let name):
      if let other = self.cell(name, target.subject) { return cell.value / other.value }
      return cell.ratios[name]
    case .timesPerItem(let name):
      guard let ours = perItem(cell, \.value), let peer = self.cell(target.workload, name),
        let theirs = perItem(peer, \.value), theirs > 0
      else { return nil }
      return ours / theirs
    }
  }

  private func count(_ count: Target.Count, _ cell: Summary.Cell) -> Double? {
    switch count {
    case .systemCalls: return cell.counts.systemCalls
    case .systemCallsPerWait:
      guard let calls = cell.counts.systemCalls, let waits = cell.counts.waits, waits > 0 else { return nil }
      return calls / waits
    case .instructions: return cell.counts.instructions
    case .instructionsPerItem: return perItem(cell, \.counts.instructions)
    case .allocations: return cell.counts.allocations
    case .bytes, .moves: return cell.value
    case .descriptors: return cell.descriptors
    }
  }

  /// What one item more costs: the difference to the same workload without any.
  private func perItem(_ cell: Summary.Cell, _ figure: (Summary.Cell) -> Double?) -> Double? {
    let base = summary.cells.first {
      $0.workload.name == cell.workload.name && $0.subject.name == cell.subject.name && $0.workload.parameters.size == 0
    }
    guard let with = figure(cell), let without = base.flatMap(figure) else { return nil }
    return (with - without) / Double(cell.workload.parameters.size)
  }
}
