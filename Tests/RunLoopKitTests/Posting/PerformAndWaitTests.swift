import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class PerformAndWaitTests: XCTestCase {
  /// A thread whose loop runs the default mode until `end`.
  private final class Server: @unchecked Sendable {
    private let thread: RunLoop.Thread
    let loop: RunLoop

    init() throws {
      thread = RunLoop.Thread(name: "server")
      try thread.start()
      loop = thread.loop!
    }

    func end() throws {
      thread.stop()
      try thread.join()
    }
  }

  /// Until a block waits in the loop's default mode: the mode is not empty any more.
  private func awaitBlock(in loop: RunLoop) { yieldUntil(!loop.isEmpty(in: .default)) }

  func test_RLK_WAIT_1_onItsOwnThreadItRunsAtOnceInWhateverMode() {
    onThread {
      let answer = try RunLoop.current.performAndWait(in: "never run") { 7 }
      XCTAssertEqual(answer, 7)
    }
  }

  func test_RLK_WAIT_2_itRunsOnTheLoopsThreadInOrderAndAnswers() throws {
    let (server, order) = (try Server(), Box<[Int]>([]))
    for round in 0..<1000 {
      try server.loop.perform { order.update { $0.append(2 * round) } }
      let isThere = try server.loop.performAndWait {
        order.update { $0.append(2 * round + 1) }
        return server.loop.isCurrent
      }
      XCTAssertTrue(isThere)
      XCTAssertEqual(order.value.count, 2 * round + 2)
    }
    XCTAssertEqual(order.value, Array(0..<2000))
    try server.end()
    XCTAssertEqual(thrown { try server.loop.performAndWait {} }, .loopEnded)
  }

  func test_RLK_WAIT_3_whatTheBlockUsesIsTheCallersOwn() throws {
    let server = try Server()
    var numbers = [3, 1, 2]
    try server.loop.performAndWait { numbers.sort() }
    XCTAssertEqual(numbers, [1, 2, 3])
    try server.end()
  }

  func test_RLK_WAIT_4_aLoopThatEndsMeanwhileIsAnError() throws {
    let (loop, ready, mayEnd, result) = (Box<RunLoop?>(nil), Gate(), Gate(), Box<[RunLoopError?]>([]))
    let owner = TestThread {
      loop.value = RunLoop.current
      ready.open()
      mayEnd.wait()
    }
    ready.wait()
    let callers = (0..<4).map { number in
      TestThread {
        let error = thrown {
          try loop.value!.performAndWait(timeout: number == 0 ? .seconds(1000) : nil) { XCTFail("it ran") }
        }
        result.update { $0.append(error) }
      }
    }
    awaitBlock(in: loop.value!)
    mayEnd.open()
    owner.join()
    for caller in callers { caller.join() }
    XCTAssertEqual(result.value, Array(repeating: .loopEnded, count: 4))
  }

  func test_RLK_WAIT_5_outOfTimeTheBlockIsWithdrawn() {
    let (loop, ready, late, done) = (Box<RunLoop?>(nil), Gate(), Gate(), Box(0))
    let owner = TestThread {
      loop.value = RunLoop.current
      ready.open()
      late.wait()
      XCTAssertTrue(RunLoop.current.isEmpty(in: .default))
      try? RunLoop.current.perform { done.value += 1 }
      XCTAssertEqual(try? RunLoop.current.run(in: .default, for: .zero), .timedOut)
      XCTAssertEqual(try? RunLoop.current.run(in: "other", for: .zero), .finished)
    }
    ready.wait()
    for timeout: Duration in [.milliseconds(2), .zero, .seconds(-1)] {
      XCTAssertEqual(thrown { try loop.value!.performAndWait(timeout: timeout) { XCTFail("it ran") } }, .timedOut)
      XCTAssertEqual(
        thrown {
          try loop.value!.performAndWait(in: "other", .default, .common, timeout: timeout) { XCTFail("it ran") }
        },
        .timedOut)
    }
    late.open()
    owner.join()
    XCTAssertEqual(done.value, 1)
  }

  func test_RLK_WAIT_6_oneThatHasBegunIsWaitedFor() throws {
    let (server, timeout) = (try Server(), Duration.milliseconds(20))
    let until = RunLoop.Instant.now.advanced(by: timeout * 2)
    let answer = try server.loop.performAndWait(timeout: timeout) {
      while RunLoop.Instant.now < until { sched_yield() }
      return "late, but whole"
    }
    XCTAssertEqual(answer, "late, but whole")
    try server.end()
  }

  func test_RLK_WAIT_7_twoThatWaitForEachOtherAreFreedByATimeout() throws {
    let (first, second) = (try Server(), try Server())
    let (firstIsIn, secondIsIn, results) = (Gate(), Gate(), Box<[String]>([]))
    let caller = TestThread {
      try? first.loop.performAndWait {
        firstIsIn.open()
        secondIsIn.wait()
        let error = thrown {
          try second.loop.performAndWait(timeout: .milliseconds(5)) {}
        }
        results.update { $0.append("\(error == .timedOut)") }
      }
    }
    try second.loop.performAndWait {
      secondIsIn.open()
      firstIsIn.wait()
      try? first.loop.performAndWait { results.update { $0.append("served") } }
    }
    caller.join()
    XCTAssertEqual(results.value, ["true", "served"])
    try first.end()
    try second.end()
  }

  func test_RLK_WAIT_8_itRunsOrItIsOutOfTimeNeverBoth() throws {
    let (server, ran, answered, late) = (try Server(), Box(0), Box(0), Box(0))
    let callers = (0..<4).map { number in
      TestThread {
        for round in 0..<500 {
          do {
            try server.loop.performAndWait(
              in: round % 3 == 0 ? [.default, "other"] : [],
              timeout: .microseconds((number * 7 + round) % 40)
            ) { ran.update { $0 += 1 } }
            answered.update { $0 += 1 }
          } catch RunLoopError.timedOut {
            late.update { $0 += 1 }
          } catch {
          }
        }
      }
    }
    for caller in callers { caller.join() }
    try server.end()
    XCTAssertEqual(ran.value, answered.value)
    XCTAssertEqual(ran.value + late.value, 2000)
  }

  /// A drain that serves another mode has the block in its hands when it is withdrawn.
  /// Queues a block for the mode "other", and whatever `queue` adds after it. Withdraws the block while a drain of the
  /// loop's thread has it, and then calls `drained` on that thread.
  private func withdrawDuringADrain(queue: (RunLoop) -> Void = { _ in }, drained: @escaping (RunLoop) -> Void) {
    let (loop, ready, queued, withdrawn) = (Box<RunLoop?>(nil), Gate(), Gate(), Gate())
    let owner = TestThread {
      let own = RunLoop.current
      loop.value = own
      ready.open()
      queued.wait()
      _ = try? own.run(in: .default, for: .zero)
      drained(own)
    }
    ready.wait()
    let own = loop.value!
    let call = Task {
      do {
        try await own.performAndWait(in: "other") { XCTFail("it ran") }
      } catch {
        XCTAssertTrue(error is CancellationError, "\(error)")
      }
      withdrawn.open()
    }
    yieldUntil(!own.isEmpty(in: "other"))
    queue(own)
    try? own.enqueue {
      call.cancel()
      withdrawn.wait()
    }
    queued.open()
    owner.join()
  }

  func test_RLK_WAIT_9_aBlockWithdrawnWhileADrainHasItIsGone() {
    withdrawDuringADrain { own in XCTAssertTrue(own.isEmpty(in: "other")) }
  }

  func test_RLK_WAIT_9_theOthersThatTheDrainHasStay() {
    let (ran, callers) = (Box(0), Box<[TestThread]>([]))
    withdrawDuringADrain { own in
      callers.value = [
        TestThread {
          XCTAssertNil(thrown { try own.performAndWait(in: "other", "third") { ran.value += 1 } })
        }
      ]
      yieldUntil(!own.isEmpty(in: "third"))
    } drained: { own in
      _ = try? own.run(in: "other", for: .zero)
      XCTAssertEqual(ran.value, 1)
    }
    for caller in callers.value { caller.join() }
  }

  private struct Refused: Error, Equatable { let number: Int }

  func test_RLK_WAIT_11_whatTheBlockThrowsIsTheCallers() throws {
    let server = try Server()
    func ask(_ number: Int) throws -> Int {
      if number % 2 == 1 { throw Refused(number: number) }
      return number
    }
    for number in 0..<4 {
      // Elsewhere, in one of several modes, and on the loop's own thread.
      let answers = [
        Result { try server.loop.performAndWait { try ask(number) } },
        Result { try server.loop.performAndWait(in: "never", .default) { try ask(number) } },
        Result { try server.loop.performAndWait(in: "never", "nor this", .default) { try ask(number) } },
        try server.loop.performAndWait { Result { try server.loop.performAndWait { try ask(number) } } },
      ]
      for answer in answers {
        switch answer {
        case .success(let value): XCTAssertEqual(value, number)
        case .failure(let error): XCTAssertEqual(error as? Refused, number % 2 == 1 ? Refused(number: number) : nil)
        }
      }
    }
    for call in [
      { try server.loop.performAndWait(in: "never", timeout: .zero) { try ask(1) } },
      { try server.loop.performAndWait(in: "never", "nor this", timeout: .zero) { try ask(1) } },
    ] { XCTAssertEqual(thrown(call), .timedOut) }
    try server.end()
    XCTAssertThrowsError(try server.loop.performAndWait { try ask(1) }) {
      XCTAssertEqual($0 as? RunLoopError, .loopEnded)
    }
  }

  func test_RLK_WAIT_10_nothingOfItStays() throws {
    final class Token {}
    weak var weakToken: Token?
    do {
      let (token, server) = (Token(), try Server())
      weakToken = token
      nonisolated(unsafe) let kept = token
      try server.loop.performAndWait { withExtendedLifetime(kept) {} }
      _ = thrown {
        try server.loop.performAndWait(in: "never", timeout: .zero) { withExtendedLifetime(kept) {} }
      }
      try server.end()
    }
    XCTAssertNil(weakToken)
  }
}
