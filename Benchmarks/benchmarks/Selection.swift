import Measuring

/// Which workloads and subjects were asked for.
struct Selection {
  let workloads: [Workload]
  let subjects: [Subject]

  init(workloads: String?, subjects: String?, among all: [Workload], isQuick: Bool) throws {
    let picked = try Self.pick(workloads, from: all, "workload") { $0.name == $1 || $0.label == $1 }
    self.workloads = isQuick && workloads == nil ? picked.filter { !$0.isLong } : picked
    self.subjects = try Self.pick(subjects, from: Subject.all, "subject") { $0.name == $1 }
  }

  private static func pick<T>(
    _ list: String?, from all: [T], _ kind: String, matches: (T, String) -> Bool
  ) throws -> [T] {
    guard let list else { return all }
    let names = list.split(separator: ",").map { String($0).trimmed }
    for name in names where !all.contains(where: { matches($0, name) }) {
      throw Failure("there is no \(kind) '\(name)'; --list prints them")
    }
    if names.isEmpty { throw Failure("--\(kind)s: the list is empty") }
    return all.filter { each in names.contains { matches(each, $0) } }
  }
}

enum Listing {
  static func print() {
    Swift.print("Workloads")
    for workload in Workload.standard { Swift.print("  \(workload.label.padded(to: 25)) \(workload.what)") }
    Swift.print("\nWorkloads of --growth")
    for growth in Growth.all {
      Swift.print("  \(growth.workloads.map(\.label).joined(separator: ", ").padded(to: 25)): \(growth.axis)")
    }
    Swift.print("\nSubjects")
    for subject in Subject.all {
      let note = subject.absence.map { " [left out: \($0)]" } ?? ""
      Swift.print("  \(subject.name.padded(to: 25)) \(subject.title)\(note)")
    }
  }
}
