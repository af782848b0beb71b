import FoundationEssentials
import Measuring

/// The figures as JSON: a list of objects, one per workload and subject.
enum Export {
  private struct Record: Encodable {
    let workload: String
    let args: String
    let subject: String
    let metric: String
    let value: Double
    let ratioToFloor: Double?
    let ratioToBestPeer: Double?
    let syscallsPerOp: Double?
    let instructionsPerOp: Double?
    let allocationsPerOp: Double?
    let waitsPerOp: Double?
    let ratioToCore: Double?
    let p99Ns: Double?
    let maxNs: Double?
    let rssPerItem: Double?
    let descriptorsPerItem: Double?
    let rounds: Int

    init(_ cell: Summary.Cell) {
      workload = cell.workload.name
      args = cell.workload.arguments
      subject = cell.subject.name
      metric = cell.workload.metric.rawValue
      value = cell.value
      ratioToFloor = cell.ratioToFloor
      ratioToBestPeer = cell.ratioToBestPeer
      syscallsPerOp = cell.counts.systemCalls
      instructionsPerOp = cell.counts.instructions
      allocationsPerOp = cell.counts.allocations
      waitsPerOp = cell.counts.waits
      ratioToCore = cell.ratios[Subject.core]
      p99Ns = cell.p99
      maxNs = cell.max
      rssPerItem = cell.rss
      descriptorsPerItem = cell.descriptors
      rounds = cell.rounds
    }
  }

  static func write(_ summary: Summary, to path: String) throws {
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    do {
      try encoder.encode(summary.cells.map { Record($0) }).write(to: URL(filePath: path))
    } catch {
      throw Failure("--json: cannot write \(path): \(error)")
    }
  }
}
