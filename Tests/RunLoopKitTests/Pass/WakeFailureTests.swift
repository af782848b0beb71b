import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class WakeFailureTests: XCTestCase {
  /// Somebody has put a descriptor that cannot be written over the loop's eventfd: the lost wake is told of, and once.
  func test_RLK_WAKE_1_aWakeThatCannotBeWritten_isToldOnce() throws {
    let (loop, ready) = (Box<RunLoop?>(nil), Gate())
    let owner = TestThread {
      loop.value = .current
      _ = try? RunLoop.current.add(RunLoop.Timer.never())
      ready.open()
      for _ in 0..<2 { XCTAssertEqual(try? RunLoop.current.run(for: .seconds(120)), .stopped) }
    }
    ready.wait()
    let target = loop.value!
    yieldUntil(target.isWaiting)
    let number = try XCTUnwrap(Self.wakeupDescriptor(of: target))
    let (eventCounter, nothing) = (dup(number), open("/dev/null", O_RDONLY | O_CLOEXEC))
    XCTAssertEqual(dup2(nothing, number), number)
    let (pipe, standardError) = (Pipe(), dup(STDERR_FILENO))
    dup2(pipe.writing, STDERR_FILENO)
    for _ in 0..<2 {
      yieldUntil(target.isWaiting)
      target.stop()
      var one: UInt64 = 1
      XCTAssertEqual(write(eventCounter, &one, 8), 8)
    }
    owner.join()
    dup2(standardError, STDERR_FILENO)
    XCTAssertEqual(dup2(eventCounter, number), number)
    let said = pipe.receive().split(separator: "\n")
    XCTAssertEqual(said.count, 1, "\(said)")
    XCTAssertTrue(said.first?.contains("write(\(number)) of the loop's eventfd: errno \(EBADF)") ?? false, "\(said)")
    for descriptor in [eventCounter, nothing, standardError] { close(descriptor) }
    pipe.closeBoth()
    loop.value = nil
  }

  static func wakeupDescriptor(of loop: RunLoop) -> Int32? {
    let (text, word) = ("\(loop)", "wakeup port: descriptor ")
    let place = text.indices.first { text[$0...].hasPrefix(word) }
    return place.flatMap { Int32(text[$0...].dropFirst(word.count).prefix { $0.isNumber }) }
  }
}
