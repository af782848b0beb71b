import Testing

/// What the errors say: Tests/ErrorTexts tries each public operation that can throw, and fails each of its calls with each error
/// of the call's manual page. What it prints is committed, so that a change of a text is read by somebody.
@Suite struct ErrorTextListTests {
  private static let tool = Tool("error-texts")
  /// Where calls cannot be made to fail: a sanitizer has functions of its own in their places.
  private static let cannotFail: Int32 = 3

  private static var list: String {
    let folder = #filePath.split(separator: "/").dropLast(2).reduce("") { "\($0)/\($1)" }
    return Files.text(of: "\(folder)/ErrorTexts/texts.txt") ?? ""
  }

  /// By operation: its line, and those below it.
  private static func parts(_ text: String) -> [String: String] {
    var (parts, name) = ([String: String](), "")
    for line in text.split(separator: "\n") {
      if !line.hasPrefix(" ") { name = String(line) }
      parts[name, default: ""] += line + "\n"
    }
    return parts
  }

  @Test func test_RLK_ERROR_11_eachTextIsInTheList() {
    let outcome = Self.tool.run([])
    guard outcome.status != Self.cannotFail else { return }
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let (found, wanted) = (Self.parts(outcome.output), Self.parts(Self.list))
    #expect(wanted.count > 30)
    let skipped = found.keys.filter { $0.hasPrefix("skipped: ") }
    for (name, text) in found where !skipped.contains(name) {
      #expect(text == wanted[name], "error-texts > Tests/ErrorTexts/texts.txt, if the new text is right: \(name)")
    }
    for name in wanted.keys where found[name] == nil {
      #expect(skipped.contains { $0.hasPrefix("skipped: \(name): ") }, "\(name) is not tried any more")
    }
  }

  /// Descriptors, threads or /proc are missing in earnest.
  @Test func test_RLK_ERROR_12_realLimits() {
    let outcome = Self.tool.run(["limits"])
    guard outcome.status != Self.cannotFail else { return }
    #expect(outcome.status == 0, "\(outcome.complaint)")
  }
}
