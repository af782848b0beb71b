import CMeasure
import FoundationEssentials
import Measuring

/// Writes a run into a document, between lines that mark the place.
enum Document {
  static func write(_ summary: Summary, _ targets: Targets, isGrowth: Bool, to path: String) throws {
    guard var text = try? String(contentsOfFile: path, encoding: .utf8) else { throw Failure("cannot read \(path)") }
    if isGrowth {
      text = try replacing("growth", in: text, with: growth(summary))
    } else {
      text = try replacing("figures", in: text, with: figures(summary))
      text = try replacing("targets", in: text, with: self.targets(summary, targets))
    }
    do { try text.write(toFile: path, atomically: true, encoding: .utf8) } catch {
      throw Failure("cannot write \(path): \(error)")
    }
  }

  /// What stands between `<!-- name -->` and `<!-- /name -->`.
  static func replacing(_ name: String, in text: String, with content: String) throws -> String {
    guard let begin = text.firstRange(of: "<!-- \(name) -->\n"), let end = text.firstRange(of: "<!-- /\(name) -->"),
      begin.upperBound <= end.lowerBound
    else { throw Failure("--document: no place '<!-- \(name) -->' in it") }
    return String(text[..<begin.upperBound]) + content + String(text[end.lowerBound...])
  }

  private static func figures(_ summary: Summary) -> String {
    let pictures = summary.workloads.filter { $0.metric != .moves }
      .map { "[\($0.label)](performance/\($0.fileName).svg)" }.joined(separator: ", ")
    return """

      RunLoopKit as of commit \(commit()).

      ![RunLoopKit among event loops](performance/overview.svg)

      ```text
      \(Table(summary).text)```

      A picture of each: \(pictures).


      """
  }

  private static func growth(_ summary: Summary) -> String {
    let pictures = Growth.all.map { "![\($0.title)](performance/growth-\($0.name).svg)\n" }.joined(separator: "\n")
    return "\n\(pictures)\n```text\n\(Table(summary).text)```\n\n"
  }

  private static func targets(_ summary: Summary, _ targets: Targets) -> String {
    let table = TargetsTable(targets.all, summary)
    return """

      \(table.reached) of \(table.judged) figures reach their target; \(table.near) more are near it, which does not count.

      \(table.text)

      """
  }

  private static func commit() -> String {
    let (status, output) = Child.run(["git", "rev-parse", "--short", "HEAD"], timeout: 10)
    return status == 0 ? output.filter { $0 != "\n" } : "(unknown)"
  }
}
