import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// Limits of sources, in virtual time: periods are exact.
@Suite struct RateLimitTests {
  @Test func aDescriptorRestsUntilItsPeriodEnds() async {
    await #expect(processExitsWith: .success) { try LimitBodies.aDescriptorRestsUntilItsPeriodEnds() }
  }

  @Test func noMessageOfAPortIsLost() async {
    await #expect(processExitsWith: .success) { try LimitBodies.noMessageOfAPortIsLost() }
  }

  @Test func anInvalidatedSourceEndsItsRest() async {
    await #expect(processExitsWith: .success) { try LimitBodies.anInvalidatedSourceEndsItsRest() }
  }

  @Test func whatLeavesAndComesBackStillRests() async {
    await #expect(processExitsWith: .success) { try LimitBodies.whatLeavesAndComesBackStillRests() }
  }

  @Test func aRestKeepsNoModeThatTheSourceHasLeft() async {
    await #expect(processExitsWith: .success) { try LimitBodies.aRestKeepsNoModeThatTheSourceHasLeft() }
  }

  @Test func anotherModeIsNoWayAroundARest() async {
    await #expect(processExitsWith: .success) { try LimitBodies.anotherModeIsNoWayAroundARest() }
  }

  @Test func whatTwoLoopsShareIsTellingInBoth() async {
    await #expect(processExitsWith: .success) { try LimitBodies.whatTwoLoopsShareIsTellingInBoth() }
  }

  @Test func aPeriodBeginsWithItsFirstCallout() async {
    await #expect(processExitsWith: .success) { try LimitBodies.aPeriodBeginsWithItsFirstCallout() }
  }

  @Test func aRemovalWithAnAnswerEndsTheRest() async {
    await #expect(processExitsWith: .success) { try LimitBodies.aRemovalWithAnAnswerEndsTheRest() }
  }

  @Test func fileEventsWait() async {
    await #expect(processExitsWith: .success) { try LimitBodies.fileEventsWait() }
  }
}

enum LimitBodies {
  private static func makePipe() -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    Bodies.require(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    return (ends[0], ends[1])
  }

  /// A loop of its own thread: the main thread's has the main queue.
  private static func onLoop(_ body: @escaping @Sendable (VirtualTime) throws -> Void) {
    let time = VirtualTime.install()
    time.start {
      do { try body(time) } catch {
        print(error)
        exit(1)
      }
    }.join()
  }

  /// Always ready: three callouts in each second, at its beginning; the other source is served meanwhile.
  static func aDescriptorRestsUntilItsPeriodEnds() throws {
    onLoop { time in
      let (loop, start, log, ends) = (RunLoop.current, time.now, Bodies.Log(), makePipe())
      let limit = RunLoop.RateLimit(count: 3, per: .seconds(1)) { item in
        Bodies.require(item is RunLoop.FileDescriptorSource)
        log.append("left at \(start.duration(to: time.now).components.seconds)")
      }
      try loop.add(
        RunLoop.FileDescriptorSource(fileDescriptor: ends.reading, interest: .readable, limit: limit) { _, _ in
          log.append("call at \(start.duration(to: time.now).components.seconds)")
        })
      let ticks = Mutex(0)
      let timer = RunLoop.Timer(fireDate: start.advanced(by: .milliseconds(100)), interval: .milliseconds(100)) { _ in
        ticks.withLock { $0 += 1 }
      }
      try loop.add(timer)
      _ = write(ends.writing, "x", 1)
      Bodies.require(try loop.run(for: .milliseconds(2500)) == .timedOut)
      let calls = ["call at 0", "call at 0", "call at 0", "left at 1", "call at 1", "call at 1", "call at 1"]
      Bodies.require(log.all == calls + ["left at 2", "call at 2", "call at 2", "call at 2"])
      Bodies.require(ticks.withLock { $0 } >= 24)
    }
  }

  static func noMessageOfAPortIsLost() throws {
    onLoop { time in
      let (loop, start, log, ends) = (RunLoop.current, time.now, Bodies.Log(), makePipe())
      let port = try RunLoop.PortSource(
        fileDescriptor: ends.reading, limit: RunLoop.RateLimit(count: 2, per: .seconds(10))
      ) { _ in log.append("\(start.duration(to: time.now).components.seconds)") }
      try loop.add(port)
      for _ in 0..<5 { _ = write(ends.writing, "12345678", 8) }
      try loop.run(for: .seconds(100))
      Bodies.require(log.all == ["0", "0", "10", "10", "20"])
    }
  }

  static func anInvalidatedSourceEndsItsRest() throws {
    onLoop { time in
      let (loop, start, ends) = (RunLoop.current, time.now, makePipe())
      let limit = RunLoop.RateLimit(count: 1, per: .seconds(100)) { _ in exit(3) }
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: ends.reading, interest: .readable, limit: limit
      ) { _, _ in }
      try loop.add(source)
      _ = write(ends.writing, "x", 1)
      try loop.run(for: .seconds(1))
      source.invalidate()
      Bodies.require(try loop.run(for: .seconds(500)) == .finished)  // no timer keeps the mode
      Bodies.require(start.duration(to: time.now) == .seconds(1))
    }
  }

  private static func seconds(_ time: VirtualTime, since start: RunLoop.Instant) -> String {
    "\(start.duration(to: time.now).components.seconds)"
  }

  /// Removed while it rests and added again, also to another mode: it rests on, without keeping the loop busy.
  static func whatLeavesAndComesBackStillRests() throws {
    onLoop { time in
      let (loop, start, log, ends) = (RunLoop.current, time.now, Bodies.Log(), makePipe())
      let limit = RunLoop.RateLimit(count: 1, per: .seconds(10)) { _ in log.append("left") }
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: ends.reading, interest: .readable, limit: limit
      ) { _, _ in log.append(seconds(time, since: start)) }
      try loop.add(source)
      _ = write(ends.writing, "x", 1)
      try loop.run(for: .seconds(2))
      loop.remove(source)
      Bodies.require(try loop.run(for: .seconds(1)) == .finished)
      try loop.add(source)
      try loop.run(for: .seconds(1))  // rests
      loop.remove(source)
      try loop.add(source, to: "other")
      let passes = Mutex(0)
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.withLock { $0 += 1 } }, to: "other")
      try loop.run(in: "other", for: .seconds(9))
      Bodies.require(log.all == ["0", "left", "10"])
      Bodies.require(passes.withLock { $0 } <= 5)
      try loop.run(in: "other", for: .seconds(16))
      Bodies.require(log.all == ["0", "left", "10", "left", "20"])
    }
  }

  static func aRestKeepsNoModeThatTheSourceHasLeft() throws {
    onLoop { time in
      let (loop, start, ends) = (RunLoop.current, time.now, makePipe())
      let limit = RunLoop.RateLimit(count: 1, per: .seconds(100))
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: ends.reading, interest: .readable, limit: limit
      ) { _, _ in }
      try loop.add(source)
      _ = write(ends.writing, "x", 1)
      try loop.run(for: .seconds(1))
      loop.remove(source)
      Bodies.require(try loop.run(for: .seconds(500)) == .finished)
      Bodies.require(start.duration(to: time.now) == .seconds(1))
    }
  }

  /// A port source tells what was taken, so it must not be taken in a mode that it joins while it rests.
  static func anotherModeIsNoWayAroundARest() throws {
    onLoop { time in
      let (loop, start, log, ends) = (RunLoop.current, time.now, Bodies.Log(), makePipe())
      let port = try RunLoop.PortSource(
        fileDescriptor: ends.reading, limit: RunLoop.RateLimit(count: 1, per: .seconds(10))
      ) { port in
        log.append(seconds(time, since: start))
        if log.all.count == 1 { loop.remove(port) }
      }
      try loop.add(port)
      for _ in 0..<3 { _ = write(ends.writing, "12345678", 8) }
      Bodies.require(try loop.run(for: .seconds(1)) == .finished)
      try loop.add(port)
      try loop.add(port, to: "a")
      for _ in 0..<3 { try loop.run(in: "a", for: .seconds(1)) }
      Bodies.require(log.all == ["0"])
      try loop.run(for: .seconds(30))
      Bodies.require(log.all == ["0", "10", "20"])
    }
  }

  /// One count for two loops; the hang-up that the second one has taken in vain is told when its rest is over.
  static func whatTwoLoopsShareIsTellingInBoth() throws {
    let time = VirtualTime.install()
    let (start, log, ends) = (time.now, Bodies.Log(), makePipe())
    let source = try RunLoop.FileDescriptorSource(
      fileDescriptor: ends.reading, interest: .readable, limit: RunLoop.RateLimit(count: 1, per: .seconds(10))
    ) { _, readiness in
      Bodies.require(readiness.contains(.hangup))
      log.append(seconds(time, since: start))
    }
    close(ends.writing)
    let threads = (0..<2).map { _ in
      time.start {
        do {
          try RunLoop.current.add(source)
          try RunLoop.current.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
          try RunLoop.current.run(for: .seconds(30))
        } catch { exit(1) }
      }
    }
    for thread in threads { thread.join() }
    print(log.all)
    Bodies.require(log.all == ["0", "10"])
  }

  /// Not with the source, and not with the end of the last one: two callouts at 7, then none before 17.
  static func aPeriodBeginsWithItsFirstCallout() throws {
    onLoop { time in
      let (loop, start, log, ends) = (RunLoop.current, time.now, Bodies.Log(), makePipe())
      let limit = RunLoop.RateLimit(count: 2, per: .seconds(10))
      try loop.add(
        RunLoop.PortSource(fileDescriptor: ends.reading, limit: limit) { _ in log.append(seconds(time, since: start)) })
      for date in [7, 16, 16, 16, 17, 26, 27] {
        try loop.add(
          RunLoop.Timer(fireDate: start.advanced(by: .seconds(date))) { _ in _ = write(ends.writing, "12345678", 8) })
      }
      try loop.run(for: .seconds(100))
      Bodies.require(log.all == ["7", "16", "17", "17", "27", "27", "37"])
    }
  }

  static func aRemovalWithAnAnswerEndsTheRest() throws {
    onLoop { time in
      let (loop, start, ends) = (RunLoop.current, time.now, makePipe())
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: ends.reading, interest: .readable, limit: RunLoop.RateLimit(count: 1, per: .seconds(100))
      ) { _, _ in }
      try loop.add(source)
      _ = write(ends.writing, "x", 1)
      try loop.run(for: .seconds(1))
      try source.invalidateAndWait()
      Bodies.require(try loop.run(for: .seconds(500)) == .finished)
      Bodies.require(start.duration(to: time.now) == .seconds(1))
    }
  }

  static func fileEventsWait() throws {
    onLoop { time in
      var template = Array("/tmp/runloopkit-XXXXXX".utf8CString)
      let folder = String(cString: mkdtemp(&template))
      let (loop, start, log) = (RunLoop.current, time.now, Bodies.Log())
      let limit = RunLoop.RateLimit(count: 2, per: .seconds(1))
      try loop.add(
        RunLoop.FileWatch(path: folder, events: .created, limit: limit) { _, event in
          log.append("\(event.name ?? "") \(start.duration(to: time.now).components.seconds)")
        })
      for name in ["a", "b", "c"] {
        close(open("\(folder)/\(name)", O_CREAT | O_WRONLY, 0o600))
        unlink("\(folder)/\(name)")
      }
      rmdir(folder)
      try loop.run(for: .seconds(100))
      Bodies.require(log.all.prefix(3) == ["a 0", "b 0", "c 1"])
    }
  }
}
