import FoundationEssentials
import Glibc

/// A subject in a package of its own, because what it measures is a package: `PROGRAM list` names its workloads,
/// `PROGRAM measure ...` measures one as this program's `measure` does.
struct Program: Sendable {
  let subject: String
  let title: String
  let path: String?
  let abilities: [String: Ability]

  static let all = [Program(subject: "nio", title: "SwiftNIO, an event loop of NIOPosix", package: "Benchmarks/nio")]

  private init(subject: String, title: String, package: String) {
    self.subject = subject
    self.title = title
    let found = Self.find(package, subject)
    path = found
    abilities = found.map(Self.ask) ?? [:]
  }

  var entry: Subject {
    let absence = path == nil ? "not built (swift build -c release --package-path Benchmarks/\(subject))" : nil
    return Subject(name: subject, title: title, absence: absence, kind: .program(self))
  }

  /// Beside the package that this program was built from.
  private static func find(_ package: String, _ name: String) -> String? {
    var folder = Child.program
    while let slash = folder.lastIndex(of: "/") {
      folder = String(folder[..<slash])
      let program = "\(folder)/\(package)/.build/release/\(name)"
      if access(program, X_OK) == 0 { return program }
    }
    return nil
  }

  private static func ask(_ path: String) -> [String: Ability] {
    let (status, output) = Child.run([path, "list"], timeout: 10)
    guard status == 0 else { return [:] }
    return abilities(output)
  }

  /// A line per workload: its name, then `divisor=N`, `largest=N`, `without`, `tolerant`, `exact`.
  static func abilities(_ text: String) -> [String: Ability] {
    var abilities: [String: Ability] = [:]
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard let name = words.first else { continue }
      var ability = Ability()
      for word in words.dropFirst() {
        let parts = word.split(separator: "=")
        switch (parts[0], parts.count > 1 ? Int64(parts[1]) : nil) {
        case ("divisor", let value?): ability.divisor = value
        case ("largest", let value?): ability.largest = value
        case ("without", nil): ability.onlyWithout = true
        case ("tolerant", nil): ability.onlyTolerant = true
        case ("exact", nil): ability.onlyExact = true
        default: break
        }
      }
      abilities[String(name)] = ability
    }
    return abilities
  }
}
