import Glibc
import RunLoopKit
import XCTest

final class FutexWordTests: XCTestCase {
  private final class Shared: Sendable {
    let word = FutexWord()
  }

  /// Threads that sleep while the word is 0, with what each wait has answered.
  private func sleepers(_ count: Int, on shared: Shared, _ answers: Box<[Bool]>) -> [TestThread] {
    let names = Box([String]())
    let threads = (0..<count).map { _ in
      TestThread {
        names.update { $0.append(ownThread()) }
        let answer = shared.word.wait(while: 0, .never, for: "a test")
        answers.update { $0.append(answer) }
      }
    }
    yieldUntil(names.value.count == count && names.value.allSatisfy(isAsleep))
    return threads
  }

  func testAChangeWakesAll() {
    let (shared, answers) = (Shared(), Box([Bool]()))
    let threads = sleepers(4, on: shared, answers)
    XCTAssertFalse(shared.word.change(from: 7, to: 8))
    XCTAssertEqual(answers.value, [])
    XCTAssertTrue(shared.word.change(from: 0, to: 8))
    for thread in threads { thread.join() }
    XCTAssertEqual(answers.value, [true, true, true, true])
    XCTAssertEqual(shared.word.load(), 8)
  }

  func testAnAdvanceWakesAll() {
    let (shared, answers) = (Shared(), Box([Bool]()))
    let threads = sleepers(2, on: shared, answers)
    shared.word.advance()
    for thread in threads { thread.join() }
    XCTAssertEqual(answers.value, [true, true])
    XCTAssertEqual(shared.word.load(), 1)
  }

  func testWhatDiffersAlreadyIsNotWaitedFor() {
    let shared = Shared()
    shared.word.store(3)
    XCTAssertTrue(shared.word.wait(while: 0, .never, for: "a test"))
    XCTAssertTrue(shared.word.wait(while: 0, Deadline(.zero), for: "a test"))
  }

  func testADeadlineEndsTheWait() {
    let shared = Shared()
    XCTAssertFalse(shared.word.wait(while: 0, Deadline(.zero), for: "a test"))
    XCTAssertFalse(shared.word.wait(while: 0, Deadline(.seconds(-1)), for: "a test"))
    let begin = RunLoop.Instant.now
    XCTAssertFalse(shared.word.wait(while: 0, Deadline(.milliseconds(5)), for: "a test"))
    XCTAssertGreaterThanOrEqual(RunLoop.Instant.now, begin.advanced(by: .milliseconds(5)))
  }

  func testAnExchangeTellsWhetherItWasExpected() {
    let word = FutexWord()
    XCTAssertFalse(word.exchange(from: 1, to: 2))
    XCTAssertTrue(word.exchange(from: 0, to: 2))
    XCTAssertEqual(word.load(), 2)
  }
}
