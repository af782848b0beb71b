/// The limits of the numbers in a scenario. The parser reports a number beyond them as an error of its line, before it
/// could cause a trap or an endless wait.
enum Limits {
  /// The longest time that the scenario itself waits, in milliseconds: some thirty years. If such a time, scaled, leads
  /// beyond what a clock can show, the deadline saturates.
  static let time = 1e12
  /// For a time that the tool passes to the library, which accepts any time.
  static let times = -Double.infinity...Double.infinity
  /// For `RLSCALE`, and for all `slow` lines together.
  static let scales = 0.001...1000.0
  /// For `write` and `repeat`.
  static let repetitions = 0...1_000_000
  static let calls = 0...1_000_000_000
  /// The depth of nested runs on one thread.
  static let nesting = 200
  static let traceLines = 1_000_000

  /// Parses a number; throws an error of the line if the text is no number in the range.
  static func number(
    _ text: some StringProtocol, in range: ClosedRange<Double> = times, _ line: Int, _ what: String
  ) throws(ScenarioError) -> Double {
    guard let number = Double(text) else { throw ScenarioError(line, "\(what)bad number '\(text)'") }
    guard range.contains(number) else {
      throw ScenarioError(line, "\(what)'\(text)' is not from \(words(range.lowerBound)) to \(words(range.upperBound))")
    }
    return number
  }

  private static func words(_ number: Double) -> String {
    Int(exactly: number).map { String($0) } ?? String(number)
  }
}
