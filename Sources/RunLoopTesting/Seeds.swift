internal import RunLoopLibc

extension VirtualTime {
  /// Returns seeds for the cases of a test: 1 to `count`. To repeat one case, set the environment variable `RLK_SEED`:
  /// then only that seed is returned.
  ///
  /// <!-- not run: swift test calls tests with arguments -->
  /// ```swift
  /// @Test(arguments: VirtualTime.seeds(100)) func transfersKeepTheSum(seed: UInt64) async throws {
  ///   try await VirtualTime.run(seed: seed) { time in … }
  /// }
  /// ```
  ///
  /// The test's report names the seeds that have failed.
  /// - Parameter count: At least 1.
  /// - Thread: Any.
  public static func seeds(_ count: Int) -> [UInt64] {
    guard let text = getenv("RLK_SEED").map({ String(cString: $0) }) else {
      return (1...max(1, count)).map { UInt64($0) }
    }
    guard let named = UInt64(text) else { fatalError("RLK_SEED=\(text): a seed is a whole number from 0 on") }
    return [named]
  }
}
