import Testing

/// docs/fault-cases.md names tests that exist, and all cases.
@Suite struct FaultCaseListTests {
  private static let root = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }

  private struct Row {
    let number: Int
    let cells: [Substring]
  }

  /// The lines of the tables: those that begin with a number.
  private static let rows: [Row] = (Files.text(of: root + "/docs/fault-cases.md") ?? "").split(separator: "\n")
    .compactMap {
      let cells = $0.split(separator: "|")
      guard $0.hasPrefix("|"), let number = cells.first.flatMap({ Int($0.filter { $0 != " " }) }) else { return nil }
      return Row(number: number, cells: Array(cells.dropFirst()))
    }

  private static func names(in text: Substring) -> [Substring] {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated().compactMap { $0 % 2 == 1 ? $1 : nil }
  }

  @Test func everyCaseHasARow() {
    #expect(Self.rows.map(\.number) == Array(1...120))
    for row in Self.rows {
      #expect(row.cells.count == 2, "case \(row.number)")
      #expect(row.cells.allSatisfy { $0.contains { $0 != " " } }, "case \(row.number)")
    }
  }

  @Test func everyTestThatIsNamedExists() {
    let folders = [
      "../Examples/Tests/KvdTests", "../Examples/Tests/ExampleTests", "CRunLoopCoreTests", "ConformanceTests",
      "RunLoopTestingTests",
      "RunLoopKitTests/Blocks", "RunLoopKitTests/Concurrency", "RunLoopKitTests/Core",
      "RunLoopKitTests/Diagnostics", "RunLoopKitTests/Events", "RunLoopKitTests/FaultCases", "RunLoopKitTests/Fuzz",
      "RunLoopKitTests/Items", "RunLoopKitTests/Model", "RunLoopKitTests/Patterns", "RunLoopKitTests/Perform",
      "RunLoopKitTests/Ports", "RunLoopKitTests/RunLoop", "RunLoopKitTests/Scopes", "RunLoopKitTests/Threads",
      "Scheduled",
    ]
    var text = ""
    for folder in folders {
      for suffix in [".swift", ".c", ".cpp"] {
        for name in Files.names(in: "\(Self.root)/Tests/\(folder)", endingIn: suffix) {
          text += Files.text(of: "\(Self.root)/Tests/\(folder)/\(name)\(suffix)") ?? ""
          text += "\n\(name)\(suffix)\n"
        }
      }
    }
    let words = Set(text.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == ".") })
    let scenarios = Set(Corpus.own.names)
    for row in Self.rows {
      for name in row.cells.last.map(Self.names) ?? [] {
        #expect(words.contains(name) || scenarios.contains(String(name)), "case \(row.number): there is no \(name)")
      }
    }
  }
}
