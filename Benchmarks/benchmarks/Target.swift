import Measuring

/// A line of Benchmarks/targets.txt: a limit for one figure of one workload and one subject.
struct Target: Equatable {
  /// What is counted, and so can be a gate.
  enum Count: String, CaseIterable {
    case systemCalls = "syscalls"
    case systemCallsPerWait = "syscalls/wait"
    case instructions
    case instructionsPerItem = "instructions/item"
    case allocations
    case bytes
    case descriptors
    case moves
  }

  enum Figure: Equatable {
    case count(Count)
    /// Times as long as another subject, or as the same one for another workload.
    case times(String)
    /// The same, of what one item more costs.
    case timesPerItem(String)
  }

  let workload: String
  let subject: String
  let figure: Figure
  let target: Double?
  var gate: Double?

  /// Nil for a line that says nothing.
  init?(line: String) throws {
    let text = line.prefix { $0 != "#" }
    if text.allSatisfy({ $0 == " " }) { return nil }
    let fields = text.split(separator: "|", omittingEmptySubsequences: false).map { String($0).trimmed }
    guard fields.count == 5, let figure = Self.figure(fields[2]) else {
      throw Failure("targets: no such line: \(line)")
    }
    workload = fields[0]
    subject = fields[1]
    self.figure = figure
    target = try Self.number(fields[3], line)
    gate = try Self.number(fields[4], line)
  }

  private static func figure(_ name: String) -> Figure? {
    if let count = Count(rawValue: name) { return .count(count) }
    guard name.hasPrefix("x ") else { return nil }
    if name.hasSuffix(" /item") { return .timesPerItem(String(name.dropFirst(2).dropLast(6))) }
    return .times(String(name.dropFirst(2)))
  }

  private static func number(_ field: String, _ line: String) throws -> Double? {
    if field == "-" { return nil }
    guard let number = Double(field) else { throw Failure("targets: '\(field)' is no number: \(line)") }
    return number
  }

  var figureName: String {
    switch figure {
    case .count(let count): count.rawValue
    case .times(let name): "x \(name)"
    case .timesPerItem(let name): "x \(name) /item"
    }
  }

  var line: String {
    let numbers = [target, gate].map { $0.map(Self.text) ?? "-" }
    let fields = [
      workload.padded(to: 25), subject.padded(to: 7), figureName.padded(to: 17), numbers[0].padded(to: 6), numbers[1],
    ]
    return fields.joined(separator: " | ")
  }

  /// As few digits as say it.
  static func text(_ value: Double) -> String {
    let text = "\(value)"
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }
}
