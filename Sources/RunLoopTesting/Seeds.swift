internal import RunLoopLibc

extension VirtualTime {
  /// Seeds for the cases of a test: 1 to `count`; or the only one that the environment's `RLK_SEED` names, to see one
  /// case again.
  ///
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
