/// How far the numbers of a scenario go. What lies beyond is a mistake in its line, not a trap or a wait without end.
enum Limits {
  /// Of a time that the scenario itself waits, in milliseconds: some thirty years. Scaled and added up it is still far
  /// from what a clock can show.
  static let time = 1e12
  /// Of a time that is handed to the library, which takes any.
  static let times = -Double.infinity...Double.infinity
  /// Of `RLSCALE`, and of all `slow` lines together.
  static let scales = 0.001...1000.0
  /// Of `write` and `repeat`.
  static let repetitions = 0...1_000_000
  static let calls = 0...1_000_000_000
  /// Runs within runs, on one thread.
  static let nesting = 200
  static let traceLines = 1_000_000

  /// The text as a number of a range, or what is wrong with it.
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
