/// A directory of scenarios, each in a file with its traces.
struct Corpus {
  let directory: String

  /// The one beside this file.
  static let own = Corpus(directory: testDirectory + "/Corpus")

  private static let testDirectory = #filePath.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }

  var names: [String] { Files.names(in: directory, endingIn: ".rl") }

  func scenarioPath(_ name: String) -> String { "\(directory)/\(name).rl" }

  /// The last trace of the file: what is right, and where nobody decided otherwise, what the system's run loop does.
  func expectedTrace(_ name: String) -> String? {
    guard let lines = Files.text(of: scenarioPath(name))?.split(separator: "\n", omittingEmptySubsequences: false),
      let heading = lines.lastIndex(where: { $0.hasPrefix("--- ") })
    else { return nil }
    return lines[(heading + 1)...].joined(separator: "\n")
  }
}

/// Two texts, line by line.
enum Difference {
  /// All lines of `expected`, those that are missing with a minus, and those that are too many with a plus.
  static func between(_ expected: String, _ got: String) -> String {
    let old = expected.split(separator: "\n", omittingEmptySubsequences: false)
    let new = got.split(separator: "\n", omittingEmptySubsequences: false)
    var removed: Set<Int> = []
    var inserted: Set<Int> = []
    for change in new.difference(from: old) {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): inserted.insert(offset)
      }
    }
    var lines: [String] = []
    var index = 0
    for (offset, line) in old.enumerated() {
      while inserted.contains(index) {
        lines.append("+\(new[index])")
        index += 1
      }
      if removed.contains(offset) {
        lines.append("-\(line)")
      } else {
        lines.append(" \(line)")
        index += 1
      }
    }
    lines += new[index...].map { "+\($0)" }
    return lines.joined(separator: "\n")
  }
}
