import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// Limits of sources, in virtual time: periods are exact.
@Suite struct RateLimitTests {
  /// Always ready: three callouts in each second, at its beginning; the other source is served meanwhile.
  @Test func aDescriptorRestsUntilItsPeriodEnds() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log, ends) = (RunLoop.current, time.now, Log(), makePipe())
      defer { closeBoth(ends) }
      let limit = RunLoop.RateLimit(count: 3, per: .seconds(1)) { item in
        #expect(item is RunLoop.FileDescriptorSource)
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
      #expect(try loop.run(for: .milliseconds(2500)) == .timedOut)
      let calls = ["call at 0", "call at 0", "call at 0", "left at 1", "call at 1", "call at 1", "call at 1"]
      #expect(log.all == calls + ["left at 2", "call at 2", "call at 2", "call at 2"])
      #expect(ticks.withLock { $0 } >= 24)
    }
  }

  /// The kit's own timers keep the dates that they promise.
  @Test func test_RLK_TIMER_13_theDefaultToleranceLengthensNoPause() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log, ends) = (RunLoop.current, time.now, Log(), makePipe())
      defer { closeBoth(ends) }
      loop.defaultTimerTolerance = .milliseconds(900)
      let limit = RunLoop.RateLimit(count: 1, per: .seconds(1))
      try loop.add(
        RunLoop.FileDescriptorSource(fileDescriptor: ends.reading, interest: .readable, limit: limit) { _, _ in
          log.append("\(start.duration(to: time.now).components.seconds)")
        })
      _ = write(ends.writing, "x", 1)
      #expect(try loop.run(for: .milliseconds(10_500)) == .timedOut)
      #expect(log.all == (0...10).map { "\($0)" })
    }
  }

  /// As that of any other.
  @Test func aLocalSourceHasItsLimit() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      let (counters, ready) = (makePipe(), makePipe())
      defer { for ends in [counters, ready] { closeBoth(ends) } }
      let limit = RunLoop.RateLimit(count: 2, per: .seconds(10))
      try loop.assumeOnLoop { local in
        try local.portSource(fileDescriptor: counters.reading, limit: limit) { _ in
          log.append("port source \(seconds(time, since: start))")
        }
        try local.fileDescriptorSource(fileDescriptor: ready.reading, interest: .readable, limit: limit) { _, _ in
          log.append("descriptor \(seconds(time, since: start))")
        }
      }
      for _ in 0..<5 { _ = write(counters.writing, "12345678", 8) }
      _ = write(ready.writing, "x", 1)
      try loop.run(for: .seconds(15))
      let dates = ["0", "0", "10", "10"]
      #expect(log.all.filter { $0.hasPrefix("port") } == dates.map { "port source \($0)" })
      #expect(log.all.filter { $0.hasPrefix("desc") } == dates.map { "descriptor \($0)" })
    }
  }

  @Test func noMessageOfAPortIsLost() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log, ends) = (RunLoop.current, time.now, Log(), makePipe())
      defer { closeBoth(ends) }
      let port = try RunLoop.PortSource(
        fileDescriptor: ends.reading, limit: RunLoop.RateLimit(count: 2, per: .seconds(10))
      ) { _ in log.append("\(start.duration(to: time.now).components.seconds)") }
      try loop.add(port)
      for _ in 0..<5 { _ = write(ends.writing, "12345678", 8) }
      try loop.run(for: .seconds(100))
      #expect(log.all == ["0", "0", "10", "10", "20"])
    }
  }

  /// What begins in a pause is told after it, once.
  @Test func test_RLK_FD_43_anEndThatBeginsInAPause() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log) = (RunLoop.current, time.now, Log())
      let path = "/tmp/runloopkit-limit.\(getpid())"
      #expect(mkfifo(path, 0o600) == 0)
      let reading = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
      defer {
        close(reading)
        unlink(path)
      }
      let limit = RunLoop.RateLimit(count: 1, per: .seconds(10))
      try loop.add(
        RunLoop.FileDescriptorSource(fileDescriptor: reading, interest: .readable, limit: limit) { _, readiness in
          var byte: UInt8 = 0
          if readiness.contains(.readable) { _ = read(reading, &byte, 1) }
          log.append("\(readiness) at \(start.duration(to: time.now).components.seconds)")
        })
      for (date, text) in [(1, ""), (2, ""), (3, ""), (35, ""), (36, "ab")] {
        let date = start.advanced(by: .seconds(date))
        try loop.add(
          RunLoop.Timer(fireDate: date) { _ in
            let writer = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            _ = write(writer, text, strlen(text))
            close(writer)
          })
      }
      try loop.run(for: .seconds(100))
      #expect(
        log.all == [
          "hang-up at 1", "hang-up at 11", "hang-up at 35", "readable|hang-up at 45", "readable|hang-up at 55",
          "hang-up at 65",
        ])
    }
  }

  @Test func anInvalidatedSourceEndsItsRest() async throws {
    try await VirtualTime.run { time in
      let (loop, start, ends) = (RunLoop.current, time.now, makePipe())
      defer { closeBoth(ends) }
      let limit = RunLoop.RateLimit(count: 1, per: .seconds(100)) { _ in
        Issue.record("the rest is over without the source")
      }
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: ends.reading, interest: .readable, limit: limit
      ) { _, _ in }
      try loop.add(source)
      _ = write(ends.writing, "x", 1)
      try loop.run(for: .seconds(1))
      source.invalidate()
      #expect(try loop.run(for: .seconds(500)) == .finished)  // no timer keeps the mode
      #expect(start.duration(to: time.now) == .seconds(1))
    }
  }

  /// Removed while it rests and added again, also to another mode: it rests on, without keeping the loop busy.
  @Test func whatLeavesAndComesBackStillRests() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log, ends) = (RunLoop.current, time.now, Log(), makePipe())
      defer { closeBoth(ends) }
      let limit = RunLoop.RateLimit(count: 1, per: .seconds(10)) { _ in log.append("left") }
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: ends.reading, interest: .readable, limit: limit
      ) { _, _ in log.append(seconds(time, since: start)) }
      try loop.add(source)
      _ = write(ends.writing, "x", 1)
      try loop.run(for: .seconds(2))
      loop.remove(source)
      #expect(try loop.run(for: .seconds(1)) == .finished)
      try loop.add(source)
      try loop.run(for: .seconds(1))  // rests
      loop.remove(source)
      try loop.add(source, to: "other")
      let passes = Mutex(0)
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.withLock { $0 += 1 } }, to: "other")
      try loop.run(in: "other", for: .seconds(9))
      #expect(log.all == ["0", "left", "10"])
      #expect(passes.withLock { $0 } <= 5)
      try loop.run(in: "other", for: .seconds(16))
      #expect(log.all == ["0", "left", "10", "left", "20"])
    }
  }

  @Test func aRestKeepsNoModeThatTheSourceHasLeft() async throws {
    try await VirtualTime.run { time in
      let (loop, start, ends) = (RunLoop.current, time.now, makePipe())
      defer { closeBoth(ends) }
      let limit = RunLoop.RateLimit(count: 1, per: .seconds(100))
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: ends.reading, interest: .readable, limit: limit
      ) { _, _ in }
      try loop.add(source)
      _ = write(ends.writing, "x", 1)
      try loop.run(for: .seconds(1))
      loop.remove(source)
      #expect(try loop.run(for: .seconds(500)) == .finished)
      #expect(start.duration(to: time.now) == .seconds(1))
    }
  }

  /// A port source tells what was taken, so it must not be taken in a mode that it joins while it rests.
  @Test func anotherModeIsNoWayAroundARest() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log, ends) = (RunLoop.current, time.now, Log(), makePipe())
      defer { closeBoth(ends) }
      let port = try RunLoop.PortSource(
        fileDescriptor: ends.reading, limit: RunLoop.RateLimit(count: 1, per: .seconds(10))
      ) { port in
        log.append(seconds(time, since: start))
        if log.all.count == 1 { loop.remove(port) }
      }
      try loop.add(port)
      for _ in 0..<3 { _ = write(ends.writing, "12345678", 8) }
      #expect(try loop.run(for: .seconds(1)) == .finished)
      try loop.add(port)
      try loop.add(port, to: "a")
      for _ in 0..<3 { try loop.run(in: "a", for: .seconds(1)) }
      #expect(log.all == ["0"])
      try loop.run(for: .seconds(30))
      #expect(log.all == ["0", "10", "20"])
    }
  }

  /// It begins in all of them, whichever has called the source, and ends in all of them.
  @Test(arguments: [false, true]) func aRestIsThatOfEachModeOfItsSource(isPort: Bool) async throws {
    try await VirtualTime.run { time in
      let (loop, start, log, ends) = (RunLoop.current, time.now, Log(), makePipe())
      defer { closeBoth(ends) }
      let (modes, passes) = ([.default, "second", "third"] as [RunLoop.Mode], Log())
      let limit = RunLoop.RateLimit(count: 1, per: .seconds(10))
      @Sendable func call() {
        log.append("\(modes.firstIndex { $0 == loop.currentMode } ?? -1) at \(seconds(time, since: start))")
      }
      let source: RunLoop.Item =
        isPort
        ? try RunLoop.PortSource(fileDescriptor: ends.reading, limit: limit) { _ in call() }
        : try RunLoop.FileDescriptorSource(fileDescriptor: ends.reading, interest: .readable, limit: limit) { _, _ in
          call()
        }
      let observer = RunLoop.Observer(.beforeTimers) { _, _ in passes.append("pass") }
      for mode in modes { for item in [source, observer] { try loop.add(item, to: mode) } }
      for _ in 0..<5 { _ = write(ends.writing, "12345678", 8) }
      for mode in modes + modes { try loop.run(in: mode, for: .seconds(7)) }
      #expect(log.all == ["0 at 0", "1 at 10", "2 at 20", "1 at 30", "2 at 40"])
      #expect(passes.all.count <= 30)
    }
  }

  /// One count for two loops; the hang-up that the second one has taken in vain is told when its rest is over.
  @Test func whatTwoLoopsShareIsTellingInBoth() async throws {
    try await VirtualTime.run { time in
      let (start, log, ends) = (time.now, Log(), makeSockets())
      defer { closeBoth(ends) }
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: ends.reading, interest: .readable, limit: RunLoop.RateLimit(count: 1, per: .seconds(10))
      ) { _, readiness in
        #expect(readiness.contains(.hangup))
        log.append(seconds(time, since: start))
      }
      shutdown(ends.writing, Int32(SHUT_RDWR))
      let threads = (0..<2).map { _ in
        time.start {
          do {
            try RunLoop.current.add(source)
            try RunLoop.current.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
            try RunLoop.current.run(for: .seconds(30))
          } catch { Issue.record(error) }
        }
      }
      for thread in threads { thread.join() }
      #expect(log.all == ["0", "10"])
    }
  }

  /// Not with the source, and not with the end of the last one: two callouts at 7, then none before 17.
  @Test func aPeriodBeginsWithItsFirstCallout() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log, ends) = (RunLoop.current, time.now, Log(), makePipe())
      defer { closeBoth(ends) }
      let limit = RunLoop.RateLimit(count: 2, per: .seconds(10))
      try loop.add(
        RunLoop.PortSource(fileDescriptor: ends.reading, limit: limit) { _ in log.append(seconds(time, since: start)) })
      for date in [7, 16, 16, 16, 17, 26, 27] {
        try loop.add(
          RunLoop.Timer(fireDate: start.advanced(by: .seconds(date))) { _ in _ = write(ends.writing, "12345678", 8) })
      }
      try loop.run(for: .seconds(100))
      #expect(log.all == ["7", "16", "17", "17", "27", "27", "37"])
    }
  }

  /// Each callout begins another one, without a pause; or it never ends.
  @Test(arguments: [(.zero, 5), (.seconds(-1), 5), (.seconds(Int64.max), 1)] as [(Duration, Int)])
  func aPeriodOfNothingAndOneWithoutEnd(_ period: Duration, _ calls: Int) async throws {
    try await VirtualTime.run { time in
      let (loop, start, log, ends) = (RunLoop.current, time.now, Log(), makePipe())
      defer { closeBoth(ends) }
      let limit = RunLoop.RateLimit(count: 1, per: period) { _ in log.append("left") }
      try loop.add(
        RunLoop.PortSource(fileDescriptor: ends.reading, limit: limit) { _ in log.append(seconds(time, since: start)) })
      for _ in 0..<5 { _ = write(ends.writing, "12345678", 8) }
      #expect(try loop.run(for: .seconds(1_000_000)) == .timedOut)
      #expect(log.all == Array(repeating: "0", count: calls))
    }
  }

  /// While another mode runs nobody is told of its end.
  @Test func aPauseEndsWhenItsModeRunsAgain() async throws {
    try await VirtualTime.run { time in
      let (loop, start, log, ends) = (RunLoop.current, time.now, Log(), makePipe())
      defer { closeBoth(ends) }
      let limit = RunLoop.RateLimit(count: 1, per: .seconds(10)) { _ in
        log.append("left at \(seconds(time, since: start))")
      }
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: ends.reading, interest: .readable, limit: limit
      ) { _, _ in log.append("call at \(seconds(time, since: start))") }
      try loop.add(source, to: "limited")
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
      _ = write(ends.writing, "x", 1)
      #expect(try loop.run(in: "limited", for: .seconds(1)) == .timedOut)
      #expect(try loop.run(for: .seconds(20)) == .timedOut)
      #expect(log.all == ["call at 0"])
      #expect(try loop.run(in: "limited", for: .seconds(5)) == .timedOut)
      #expect(log.all == ["call at 0", "left at 21", "call at 21"])
    }
  }

  @Test func aRemovalWithAnAnswerEndsTheRest() async throws {
    try await VirtualTime.run { time in
      let (loop, start, ends) = (RunLoop.current, time.now, makePipe())
      defer { closeBoth(ends) }
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: ends.reading, interest: .readable, limit: RunLoop.RateLimit(count: 1, per: .seconds(100))
      ) { _, _ in }
      try loop.add(source)
      _ = write(ends.writing, "x", 1)
      try loop.run(for: .seconds(1))
      try source.invalidateAndWait()
      #expect(try loop.run(for: .seconds(500)) == .finished)
      #expect(start.duration(to: time.now) == .seconds(1))
    }
  }

  @Test func fileEventsWait() async throws {
    try await VirtualTime.run { time in
      var template = Array("/tmp/runloopkit-XXXXXX".utf8CString)
      let folder = String(cString: mkdtemp(&template))
      let (loop, start, log) = (RunLoop.current, time.now, Log())
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
      #expect(log.all.prefix(3) == ["a 0", "b 0", "c 1"])
    }
  }
}

/// For a hang-up that a shutdown makes: one by close(2) does not come while the child of a test beside this one has a copy.
private func makeSockets() -> (reading: Int32, writing: Int32) {
  var ends: [Int32] = [-1, -1]
  let kind = Int32(SOCK_STREAM.rawValue) | O_NONBLOCK | O_CLOEXEC  // SOCK_NONBLOCK, SOCK_CLOEXEC
  #expect(socketpair(AF_UNIX, kind, 0, &ends) == 0)
  return (ends[0], ends[1])
}

private func seconds(_ time: VirtualTime, since start: RunLoop.Instant) -> String {
  "\(start.duration(to: time.now).components.seconds)"
}
