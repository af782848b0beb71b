import CMeasure
import FoundationEssentials
import Measuring

/// Writes which targets a run reaches into a document, between lines that mark the place.
enum Document {
  static func write(_ summary: Summary, _ targets: Targets, to path: String) throws {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { throw Failure("cannot read \(path)") }
    let changed = try replacing("targets", in: text, with: self.targets(summary, targets))
    do { try changed.write(toFile: path, atomically: true, encoding: .utf8) } catch {
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

  private static func targets(_ summary: Summary, _ targets: Targets) -> String {
    let table = TargetsTable(targets.all, summary)
    return """

      RunLoopKit as of commit \(commit()).

      \(table.reached) of \(table.judged) figures reach their target; \(table.near) more are near it, which does not count.

      \(table.text)

      """
  }

  private static func commit() -> String {
    let (status, output) = Child.run(["git", "rev-parse", "--short", "HEAD"], timeout: 10)
    return status == 0 ? output.filter { $0 != "\n" } : "(unknown)"
  }
}
