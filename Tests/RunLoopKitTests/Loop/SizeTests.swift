import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Many modes, many items.
final class SizeTests: XCTestCase {
  /// More modes than are searched one by one. Their names are equal and are no one string.
  private func mode(_ number: Int, _ spelling: String = "many") -> RunLoop.Mode {
    RunLoop.Mode(rawValue: "a name that is too long to be kept in place: \(spelling) \(number)")
  }

  func test_RLK_SIZE_1_eachOfAHundredModesIsFoundByItsName() {
    onThread {
      let (loop, calls) = (RunLoop.current, Box<[Int]>([]))
      for number in 0..<100 {
        let source = RunLoop.Source { _ in calls.value.append(number) }
        try loop.add(source, to: self.mode(number))
        source.signal()
      }
      for number in (0..<100).reversed() {
        XCTAssertFalse(loop.isEmpty(in: self.mode(number)))
        XCTAssertEqual(
          try loop.run(in: self.mode(number), for: .zero, returnAfterSourceHandled: true), .handledSource)
      }
      XCTAssertEqual(calls.value, (0..<100).reversed())
      XCTAssertTrue(loop.isEmpty(in: self.mode(0, "none")))
      XCTAssertEqual(loop.modes.count, 101)
    }
  }

  func test_RLK_SIZE_1_anItemLeavesAHundredModes() {
    onThread {
      let (loop, source) = (RunLoop.current, RunLoop.Source { _ in })
      for number in 0..<100 { try loop.add(source, to: self.mode(number)) }
      for number in 0..<100 { XCTAssertTrue(loop.remove(source, from: self.mode(number))) }
      for number in 0..<100 { XCTAssertTrue(loop.isEmpty(in: self.mode(number))) }
      XCTAssertEqual(loop.modes.count, 101)
    }
  }

  func test_RLK_SIZE_1_sixtyFourModes() {
    onThread {
      let loop = RunLoop.current
      let names = (0..<64).map { RunLoop.Mode(rawValue: "mode \($0)") }
      let (counter, calls) = (EventCounter(), Box(0))
      let port = try PortSourceFactory.make(counter) { calls.value += 1 }
      let timer = RunLoop.Timer(fireDate: .distantFuture, interval: .seconds(3600)) { _ in calls.value += 1 }
      for name in names.prefix(32) { loop.addCommonMode(name) }
      try loop.add(port, to: .common)
      try loop.add(timer, to: .common)
      for name in names.suffix(32) { loop.addCommonMode(name) }
      XCTAssertEqual(loop.modes, Set(names + [.default]))
      for name in names {
        XCTAssertTrue(loop.isCommonMode(name) && loop.contains(port, in: name) && loop.contains(timer, in: name))
        calls.value = 0
        counter.add()
        timer.fireDate = .now
        for _ in 0..<20 where calls.value < 2 { try loop.run(in: name, for: .zero) }
        XCTAssertEqual(calls.value, 2)
      }
      timer.invalidate()
      XCTAssertTrue(loop.remove(port, from: .common))
      for name in names { XCTAssertTrue(loop.isEmpty(in: name)) }
    }
  }

  func test_RLK_SIZE_2_tenThousandTimers() {
    onThread {
      let (loop, fired) = (RunLoop.current, Box(0))
      let timers = (0..<10_000).map { index in
        RunLoop.Timer(fireDate: .now.advanced(by: .seconds(index % 7)), interval: .seconds(index % 3)) { _ in
          fired.value += 1
        }
      }
      for timer in timers { try loop.add(timer) }
      for timer in timers.reversed() { timer.fireDate = .distantFuture }
      for timer in timers where timer.interval > .zero { timer.fireDate = .now }
      while fired.value < timers.count * 2 / 3 - 1 { try loop.run(for: .zero) }
      for timer in timers.shuffledInSteps { XCTAssertTrue(loop.remove(timer)) }
      XCTAssertTrue(loop.isEmpty(in: .default))
    }
  }

  func test_RLK_SIZE_3_tenThousandSources() {
    onThread {
      let (loop, performed) = (RunLoop.current, Box(0))
      let sources = (0..<10_000).map { index in RunLoop.Source(order: index % 5) { _ in performed.value += 1 } }
      for source in sources { try loop.add(source, to: .common) }
      for source in sources { source.signal() }
      try loop.run(for: .zero)
      XCTAssertEqual(performed.value, sources.count)
      for source in sources.shuffledInSteps.prefix(5000) { XCTAssertTrue(loop.remove(source, from: .common)) }
      XCTAssertFalse(loop.isEmpty(in: .default))
    }
  }

  func test_RLK_SIZE_4_tenThousandObservers() {
    onThread {
      let (loop, calls) = (RunLoop.current, Box(0))
      let observers = (0..<(isSlow ? 2_000 : 10_000)).map { index in
        RunLoop.Observer(.entry, order: index % 5, repeats: index % 2 == 0) { _, _ in calls.value += 1 }
      }
      for observer in observers { try loop.add(observer) }
      try loop.add(RunLoop.Timer.never())
      for _ in 0..<2 { try loop.run(for: .zero) }
      XCTAssertEqual(calls.value, observers.count * 3 / 2)
      for observer in observers.shuffledInSteps { XCTAssertEqual(loop.remove(observer), observer.repeats) }
    }
  }
}

extension Array {
  /// In an order of no use to anybody, always the same.
  fileprivate var shuffledInSteps: [Element] { indices.map { self[($0 * 7919) % count] } }
}
