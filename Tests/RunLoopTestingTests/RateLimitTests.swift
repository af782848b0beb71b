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
