import Testing

/// The main thread ends, which ends a process of tests: each case is a process, `main-ends CASE`.
@Suite struct MainEndTests {
  @Test(arguments: ["after", "before", "while", "exit-after", "exit-before"])
  func test_RLK_END_14_theMainLoopEndsWhoeverHasAskedForIt(name: String) {
    let (status, output) = runProgram("main-ends", [name])
    let line = "RunLoopKit: the main thread has ended with "
    #expect(status == 0 && output.hasSuffix("ok\n"), "\(name), status \(status): \(output)")
    if name != "while" { #expect(output.hasPrefix(line) == name.hasSuffix("before"), "\(name): \(output)") }
  }

  /// Members that wait for nothing are not reported, and each of the others is.
  @Test(arguments: [("idle", ""), ("waiting", "RunLoopKit: the main thread has ended with 2 members and 0 blocks")])
  func test_RLK_END_14_membersThatWaitAreReported(name: String, line: String) {
    let (status, output) = runProgram("main-ends", [name])
    #expect(status == 0 && output.hasSuffix("ok\n"), "\(name), status \(status): \(output)")
    #expect(line.isEmpty ? output == "ok\n" : output.hasPrefix(line), "\(name): \(output)")
  }
}
