import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What epoll ceases to watch by a call that has nobody to answer to: injected errors.
final class LostSourceTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }
  override func tearDown() { CountingKernel.script = CountingKernel.Script() }

  typealias Source = RunLoop.FileDescriptorSource

  /// The next change of a registration is refused.
  private func refuseNext(_ number: Int32) {
    let isOver = Box(false)
    CountingKernel.script.control = {
      isOver.update { over in
        defer { over = true }
        return over ? nil : -number
      }
    }
  }

  /// What `body` has the kit say on standard error.
  private func said(_ body: () throws -> Void) rethrows -> [Substring] {
    let (pipe, standardError) = (Pipe(), dup(STDERR_FILENO))
    dup2(pipe.writing, STDERR_FILENO)
    defer { close(standardError) }
    try body()
    dup2(standardError, STDERR_FILENO)
    let text = pipe.receive()
    pipe.closeBoth()
    return text.split(separator: "\n")
  }

  /// A one shot rests, and what the other one on its descriptor wants cannot be registered.
  func test_RLK_FD_34_oneThatIsLostIsToldOnce() {
    for number in [ENOENT, EBADF] {
      onThread {
        let (loop, shots, log, pipe) = (RunLoop.current, Box(0), Box<[Source.Readiness]>([]), Pipe())
        try loop.add(RunLoop.Timer.never())
        let shot = try Source(fileDescriptor: pipe.reading, interest: .readable, trigger: .oneShot) { _, _ in
          shots.value += 1
        }
        let other = try Source(fileDescriptor: pipe.reading, interest: []) { _, ready in log.update { $0.append(ready) }
        }
        try loop.add(shot)
        try loop.add(other)
        pipe.send("x")
        self.refuseNext(number)
        for _ in 0..<3 { try loop.run(for: .zero) }
        XCTAssertEqual(shots.value, 1)
        XCTAssertEqual(log.value, [.error])
        let counts = try CountingKernel.count { XCTAssertEqual(try loop.run(for: .milliseconds(1)), .timedOut) }
        XCTAssertLessThanOrEqual(counts.waits, 3)
        for source in [shot, other] {
          XCTAssertEqual(
            thrown { try source.setInterest(.readable) }, .system(EBADF))
        }
        XCTAssertEqual(log.value, [.error])
        shot.invalidate()
        other.invalidate()
        pipe.closeBoth()
      }
    }
  }

  /// For want of memory: told and tried again, as one that is not taken back.
  func test_RLK_FD_35_oneThatIsRefusedIsTriedAgain() {
    onThread {
      let (loop, log, pipe) = (RunLoop.current, Box<[Source.Readiness]>([]), Pipe())
      let shot = try Source(fileDescriptor: pipe.reading, interest: .readable, trigger: .oneShot) { _, _ in }
      let other = try Source(fileDescriptor: pipe.reading, interest: .readable, trigger: .edge) { _, ready in
        log.update { $0.append(ready) }
        if ready.contains(.readable), log.value.contains(.error) { loop.stop() }
      }
      try loop.add(shot)
      try loop.add(other)
      pipe.send("x")
      self.refuseNext(ENOMEM)
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
      XCTAssertTrue(log.value.contains(.error) && log.value.last == .readable, "\(log.value)")
      shot.invalidate()
      other.invalidate()
      pipe.closeBoth()
    }
  }

  /// A port source has no word for it: a line on standard error. For want of memory it is tried again.
  func test_RLK_FD_36_aPortSourceThatIsLostIsToldOnStandardError() {
    for number in [ENOENT, EBADF, ENOMEM] {
      onThread {
        let (loop, called, counter) = (RunLoop.current, Box(0), EventCounter(isSemaphore: true))
        try loop.add(RunLoop.Timer.never())
        let source = try PortSourceFactory.make(counter) { called.value += 1 }
        source.label = "counter"
        try loop.add(source)
        counter.add(2)
        self.refuseNext(number)
        let said = try self.said { for _ in 0..<4 { try loop.run(for: .zero) } }
        if number == ENOMEM {
          XCTAssertEqual(called.value, 2)
          XCTAssertEqual(said, [])
        } else {
          XCTAssertEqual(called.value, 1)
          XCTAssertEqual(
            said,
            [
              "RunLoopKit: a port source \"counter\" gets no more events: its descriptor \(counter.descriptor) was closed while it was a member"
            ])
        }
        source.invalidate()
      }
    }
  }

  /// Of the epoll instance of another mode, which is readable and cannot be read: called once, and told, each time that it is added.
  func test_RLK_PORT_5_aReadThatFailsIsToldOnStandardError() {
    onThread {
      let (loop, called, counter) = (RunLoop.current, Box(0), EventCounter())
      counter.add()
      try loop.add(Source(fileDescriptor: counter.descriptor, interest: .readable) { _, _ in }, to: "hosted")
      let set = try loop.hostDescriptor(in: "hosted").fileDescriptor
      try loop.add(RunLoop.Timer.never())
      let source = try RunLoop.PortSource(fileDescriptor: set) { _ in called.value += 1 }
      source.label = "unread"
      for count in 1...2 {
        try loop.add(source)
        let said = try self.said { for _ in 0..<4 { try loop.run(for: .zero) } }
        XCTAssertEqual(called.value, count)
        let reason = "its descriptor \(set) cannot be read"
        XCTAssertEqual(
          said, ["RunLoopKit: a port source \"unread\" is not called until it is added again: \(reason)"])
        loop.remove(source)
      }
    }
  }

  /// Another thread removes one of two, and the loop sleeps: it is woken, and the other one is told.
  func test_RLK_FD_37_aSleepingLoopIsWokenForIt() {
    for number in [EBADF, ENOMEM] {
      let (loop, ready, log, pipe) = (Box<RunLoop?>(nil), Gate(), Box<[Source.Readiness]>([]), Pipe())
      let first = try! Source(fileDescriptor: pipe.reading, interest: .readable) { _, _ in }
      let owner = TestThread {
        loop.value = .current
        let second = try! Source(fileDescriptor: pipe.reading, interest: .readable) { _, ready in
          log.update { $0.append(ready) }
          RunLoop.current.stop()
        }
        _ = try? RunLoop.current.add(first)
        _ = try? RunLoop.current.add(second)
        ready.open()
        XCTAssertEqual(try? RunLoop.current.run(for: .seconds(120)), .stopped)
        second.invalidate()
      }
      ready.wait()
      yieldUntil(loop.value!.isWaiting)
      refuseNext(number)
      first.invalidate()
      owner.join()
      XCTAssertEqual(log.value, [.error])
      pipe.closeBoth()
    }
  }
}
