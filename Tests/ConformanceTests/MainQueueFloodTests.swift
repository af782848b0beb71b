import Testing

/// The main queue always has work.
@Suite struct MainQueueFloodTests {
  /// Functions of five milliseconds each that send the next one, three at a time: a timer is late by the turn of the queue
  /// that is under way at most, and keeps its phase.
  @Test(arguments: [1, 3]) func test_RLK_MAIN_12_timersAreServedBetweenTheTurns(_ count: Int) {
    let functions = (1...count).map { "M\($0)" }
    let outcome = interpret(
      "thread main:\nquantum 5\ntimer T delay=22 interval=20 stamp\n"
        + functions.map { "block \($0) quiet\non \($0): busy 5; async \($0)\n" }.joined()
        + "on T #8: stop\nadd T default\n" + functions.map { "async \($0)\n" }.joined() + "runforever\n")
    #expect(outcome.status == 0, "\(outcome.complaint)")
    let stamps = outcome.output.split(separator: "\n").compactMap { line in
      line.split(separator: "=").last.flatMap { line.contains("timer T") ? Int($0) : nil }
    }
    #expect(stamps.count == 8, "\(outcome.output)")
    for (index, stamp) in stamps.enumerated() {
      let due = 22 + 20 * index
      #expect(stamp + 5 > due && stamp <= due + 5 * count, "\(stamps)")
    }
  }
}
