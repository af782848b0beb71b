import Glibc
import Testing

/// A program that touches everything, in which one system call fails: what it asks for happens, or it is told. One process for
/// each kind of call, each of its calls and each error; `RLK_FUZZ_SECONDS` above 10 tries all, else every error of the first
/// few calls and the first error of the others.
@Suite struct FailingCallTests {
  struct Failure: Sendable, CustomStringConvertible {
    let kind: String
    let call: Int
    let error: Int32
    var arguments: [String] { [kind, "\(call)", "\(error)"] }
    var description: String { arguments.joined(separator: " ") }
  }

  private static let tool = Tool("failing-calls")
  private static let triesAll = getenv("RLK_FUZZ_SECONDS").flatMap { Int(String(cString: $0)) } ?? 0 > 10

  /// All failures that are possible, by what the program says of itself.
  private static func failures() -> [Failure] {
    tool.run([]).output.split(separator: "\n").flatMap { line -> [Failure] in
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 4, words[0] == "calls", let count = Int(words[2]) else { return [] }
      let errors = words[3].split(separator: ",").compactMap { Int32($0) }
      return (0..<min(count, 40)).flatMap { call in
        (triesAll || call < 3 ? errors : Array(errors.prefix(1))).map {
          Failure(kind: words[1], call: call + 1, error: $0)
        }
      }
    }
  }

  @Test func withoutAFailureEverythingHappens() {
    let outcome = Self.tool.run([])
    #expect(outcome.status == 0, "\(outcome)")
    #expect(!outcome.output.contains("refused"), "\(outcome)")
  }

  @Test func nothingIsLostInSilence() async {
    let failures = Self.failures()
    #expect(failures.count > 60)
    var (failed, lost) = (0, [String]())
    for failure in failures {
      let outcome = Self.tool.run(failure.arguments)
      // 3: this time the program had no such call.
      if outcome.status != 3 { failed += 1 }
      if outcome.status != 0 && outcome.status != 3 { lost.append("\(failure): \(outcome)") }
    }
    #expect(lost.isEmpty, "\(lost.joined(separator: "\n"))")
    #expect(failed * 10 > failures.count * 9, "\(failed) of \(failures.count) failed")
  }
}
