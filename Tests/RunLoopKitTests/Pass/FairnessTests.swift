import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Whatever comes again and again leaves the others their turn.
final class FairnessTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  /// A port, a block, a source and a timer, each of which is to be served once; then the loop stops.
  private final class Others: @unchecked Sendable {
    private let counter = EventCounter()
    private let served = Box<Set<String>>([])
    private let passes = Box(0)

    init(_ loop: RunLoop) throws {
      try loop.add(PortSourceFactory.make(counter) { self.serve("port", loop) })
      try loop.perform { self.serve("block", loop) }
      let source = RunLoop.Source(order: 1000) { _ in self.serve("source", loop) }
      try loop.add(source)
      source.signal()
      try loop.add(RunLoop.Timer(fireDate: .now) { _ in self.serve("timer", loop) })
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in self.passes.value += 1 })
      counter.add()
    }

    private func serve(_ name: String, _ loop: RunLoop) {
      let isAll = served.update {
        $0.insert(name)
        return $0.count == 4
      }
      if isAll { loop.stop() }
    }

    /// All were served, and within a few passes.
    func check(_ result: RunLoop.RunResult, line: UInt = #line) {
      XCTAssertEqual(result, .stopped, line: line)
      XCTAssertEqual(served.value, ["port", "block", "source", "timer"], line: line)
      XCTAssertLessThan(passes.value, 12, line: line)
    }
  }

  private func leavesTheOthersTheirTurn(line: UInt = #line, _ flood: @escaping (RunLoop) throws -> Void) {
    onThread {
      let loop = RunLoop.current
      try flood(loop)
      let others = try Others(loop)
      others.check(try loop.run(for: .seconds(30)), line: line)
    }
  }

  func test_RLK_FAIR_33_aTimerThatSetsItselfToNow() {
    leavesTheOthersTheirTurn { loop in
      try loop.add(RunLoop.Timer(fireDate: .now, interval: .seconds(3600)) { $0.fireDate = .now })
    }
  }

  func test_RLK_FAIR_51_aBlockThatQueuesItself() {
    leavesTheOthersTheirTurn { loop in
      @Sendable func again() { try? loop.perform(block: again) }
      try loop.perform(block: again)
    }
  }

  func test_RLK_FAIR_52_aSourceThatSignalsItselfIsPerformedOnceAPass() {
    leavesTheOthersTheirTurn { loop in
      let (passes, performed) = (Box(0), Box(0))
      let source = RunLoop.Source { source in
        performed.value += 1
        XCTAssertEqual(performed.value, passes.value)
        source.signal()
      }
      try loop.add(source)
      source.signal()
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.value += 1 })
    }
  }

  func test_RLK_FAIR_53_twoBlocksThatQueueEachOther() {
    leavesTheOthersTheirTurn { loop in
      @Sendable func ping() { try? loop.enqueue(block: pong) }
      @Sendable func pong() { try? loop.enqueue(block: ping) }
      try loop.enqueue(block: ping)
      // Without this the loop sleeps, since queueing does not wake; a wake a pass keeps it going.
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in loop.wakeUp() })
    }
  }

  func test_RLK_FAIR_55_aThousandSourcesOfLowerOrder() {
    leavesTheOthersTheirTurn { loop in
      for _ in 0..<1000 {
        let source = RunLoop.Source(order: -1) { $0.signal() }
        try loop.add(source)
        source.signal()
      }
    }
  }

  func test_RLK_FAIR_56_aDescriptorThatIsAlwaysReady() {
    let pipe = Pipe()
    pipe.send("nobody reads this")
    leavesTheOthersTheirTurn { loop in
      try loop.add(RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, _ in })
    }
    pipe.closeBoth()
  }

  func test_RLK_FAIR_36_manyTimersOfOneDateFireInOrderAndOnce() {
    onThread {
      let (loop, next) = (RunLoop.current, Box(0))
      let date = RunLoop.Instant.now
      for index in 0..<100_000 {
        try loop.add(
          RunLoop.Timer(fireDate: date) { _ in
            next.update {
              if $0 == index { $0 += 1 }
            }
          })
      }
      let others = try Others(loop)
      others.check(try loop.run(for: .seconds(60)))
      XCTAssertEqual(next.value, 100_000)
    }
  }

  func test_RLK_FAIR_39_aDateMovedOutBehindAnotherCostsNoSystemCall() {
    onThread {
      let loop = RunLoop.current
      let timer = RunLoop.Timer.never()
      try loop.add(RunLoop.Timer(fireDate: .now.advanced(by: .seconds(1000))) { _ in })
      try loop.add(timer)
      try loop.run(for: .zero)
      let counts = CountingKernel.count {
        for step in 1...100 { timer.fireDate = .now.advanced(by: .seconds(1000 + step)) }
      }
      XCTAssertEqual(counts, CountingKernel.Counts())
    }
  }

  func test_RLK_FAIR_37_aTimerOfTheSameExpiryThatIsInvalidatedDoesNotFire() {
    onThread {
      let (loop, fired) = (RunLoop.current, Box<[Int]>([]))
      let date = RunLoop.Instant.now.advanced(by: .milliseconds(1))
      let second = RunLoop.Timer(fireDate: date) { _ in fired.update { $0.append(2) } }
      let first = RunLoop.Timer(fireDate: date) { _ in
        fired.update { $0.append(1) }
        second.invalidate()
      }
      for timer in [first, second] { try loop.add(timer) }
      XCTAssertEqual(try loop.run(for: .seconds(30)), .finished)
      XCTAssertEqual(fired.value, [1])
    }
  }

  /// A mode without descriptors arms nothing while it does not run; the first descriptor finds an expiry that is due.
  func test_RLK_FAIR_57_anExpiryBeforeADescriptorIsAddedComesFirst() {
    for hasRun in [false, true] {
      onThread {
        let (loop, log, counter) = (RunLoop.current, Box<[String]>([]), EventCounter())
        let mode: RunLoop.Mode = "another"
        if hasRun {
          try loop.add(RunLoop.Timer(fireDate: .now) { _ in }, to: mode)
          try loop.run(in: mode)
        }
        counter.add()
        try loop.add(RunLoop.Timer(fireDate: .now) { _ in log.update { $0.append("timer") } }, to: mode)
        try loop.add(PortSourceFactory.make(counter) { log.update { $0.append("port") } }, to: mode)
        for _ in 0..<2 { try loop.run(in: mode, for: .zero) }
        XCTAssertEqual(log.value, ["timer", "port"])
      }
    }
  }

  /// Before a mode has run, too: what was ready first is served first (rule 10).
  func test_RLK_FAIR_58_beforeItsFirstRunAModeKeepsTheOrderOfExpiriesAndDescriptors() {
    for isPortFirst in [false, true] {
      onThread {
        let (loop, log, counter) = (RunLoop.current, Box<[String]>([]), EventCounter())
        let mode: RunLoop.Mode = "never run"
        try loop.add(PortSourceFactory.make(counter) { log.update { $0.append("port") } }, to: mode)
        if isPortFirst { counter.add() }
        let date = RunLoop.Instant.now.advanced(by: .milliseconds(2))
        try loop.add(RunLoop.Timer(fireDate: date) { _ in log.update { $0.append("timer") } }, to: mode)
        yieldUntil(RunLoop.Instant.now >= date.advanced(by: .milliseconds(2)))
        if !isPortFirst { counter.add() }
        for _ in 0..<2 { try loop.run(in: mode, for: .zero) }
        XCTAssertEqual(log.value, isPortFirst ? ["port", "timer"] : ["timer", "port"])
      }
    }
  }
}
