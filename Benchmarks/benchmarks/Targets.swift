import FoundationEssentials
import Measuring

/// Benchmarks/targets.txt: its lines, of which some are comments.
struct Targets {
  private enum Line {
    case comment(String)
    case target(Target)
  }

  private var lines: [Line]
  private let path: String

  var all: [Target] {
    lines.compactMap { line in
      if case .target(let target) = line { target } else { nil }
    }
  }

  init(path: String) throws {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { throw Failure("cannot read \(path)") }
    try self.init(text: text, path: path)
  }

  init(text: String, path: String = "") throws {
    self.path = path
    lines = try text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      try Target(line: String(line)).map(Line.target) ?? .comment(String(line))
    }
    for target in all { try Self.check(target) }
  }

  private static func check(_ target: Target) throws {
    guard Workload.standard.contains(where: { $0.label == target.workload }) else {
      throw Failure("targets: there is no workload '\(target.workload)'")
    }
    guard Subject.ours.contains(target.subject) else { throw Failure("targets: '\(target.subject)' is none of ours") }
  }

  var text: String {
    lines.map { line in
      switch line {
      case .comment(let text): text
      case .target(let target): target.line
      }
    }.joined(separator: "\n")
  }

  /// Gives each line the gate that `gate` has for it; nil leaves it.
  mutating func record(_ gate: (Target) -> Double?) {
    lines = lines.map { line in
      guard case .target(var target) = line, let gate = gate(target) else { return line }
      target.gate = gate
      return .target(target)
    }
  }

  func write() throws {
    do { try text.write(toFile: path, atomically: true, encoding: .utf8) } catch {
      throw Failure("cannot write \(path): \(error)")
    }
  }
}
