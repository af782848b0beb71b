import CTestSupport
import Glibc
import RunLoopKit
import RunLoopTestSupport
import XCTest

import class RunLoopKit.RunLoop

/// Modes that are made, run, nested and emptied by several threads, with few descriptors to be had now and then.
final class ModeChurnTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }
  override func tearDown() { CountingKernel.script = CountingKernel.Script() }

  func test_RLK_MODE_3_modesThatAreFilledRunAndEmptiedByManyThreads() {
    let before = openDescriptors()
    for seed in 1...(isSlow ? 2 : 6) { onThread { try self.churn(UInt64(seed)) } }
    XCTAssertEqual(openDescriptors(), before)
  }

  private static func mode(_ random: inout SplitMix) -> RunLoop.Mode { .init(rawValue: "m\(random.below(12))") }

  private func churn(_ seed: UInt64) throws {
    let (loop, isOver, served) = (RunLoop.current, Box(false), Box(0))
    let fault = Box(seed)
    // A timerfd now and then cannot be made, or a registration.
    CountingKernel.script.timerfd = {
      let number = fault.update { seed in
        seed = seed &* 6_364_136_223_846_793_005 &+ 1
        return seed
      }
      return number >> 61 == 0 ? -EMFILE : nil
    }
    let others = (0..<3).map { number in
      TestThread {
        var random = SplitMix(seed &* 100 &+ UInt64(number))
        while !isOver.value {
          let mode = Self.mode(&random)
          let counter = EventCounter()
          let timer = RunLoop.Timer(fireDate: .now.advanced(by: .microseconds(Int64(random.next() % 300)))) { _ in
            served.value += 1
          }
          let source = try? PortSourceFactory.make(counter) { served.value += 1 }
          _ = try? loop.add(timer, to: random.next() % 8 == 0 ? .common : mode)
          if let source { _ = try? loop.add(source, to: mode) }
          counter.add()
          timer.fireDate = .now.advanced(by: .microseconds(Int64(random.next() % 300)))
          if random.next() % 2 == 0 { timer.invalidate() }
          source?.invalidate()
          if random.next() % 4 == 0 { _ = loop.description }
        }
      }
    }
    var random = SplitMix(seed)
    loop.addCommonMode("m1")
    for round in 0..<400 {
      let (mode, inner) = (Self.mode(&random), Self.mode(&random))
      let fired = Box(false)
      let date = RunLoop.Instant.now.advanced(by: .microseconds(Int64(random.next() % 400)))
      let isNested = random.next() % 3 == 0
      let timer = RunLoop.Timer(fireDate: date) { _ in
        if isNested { _ = try? loop.run(in: inner, for: .microseconds(200)) }
        fired.value = true
        loop.stop()
      }
      try loop.add(timer, to: mode)
      let end = RunLoop.Instant.now.advanced(by: .seconds(20))
      while !fired.value, .now < end {
        _ = try loop.run(in: mode, for: random.next() % 2 == 0 ? nil : .seconds(20))
      }
      XCTAssertTrue(fired.value, "seed \(seed), round \(round): \(loop)")
    }
    isOver.value = true
    for other in others { other.join() }
  }
}
