import Glibc
import RunLoopKit
import RunLoopTesting
import Testing

/// What ends a run, in virtual time.
@Suite struct RunEndTests {
  /// Whether the limit is a moment or a time. Timers and blocks do not count.
  @Test(arguments: [false, true]) func aRunReturnsAfterASourceIfItShall(isMoment: Bool) async throws {
    try await VirtualTime.run { time in
      let (loop, mode, ends) = (RunLoop.current, "handled" as RunLoop.Mode, makePipe())
      func run(_ returns: Bool) throws -> RunLoop.RunResult {
        isMoment
          ? try loop.run(in: mode, until: time.now.advanced(by: .seconds(60)), returnAfterSourceHandled: returns)
          : try loop.run(in: mode, for: .seconds(60), returnAfterSourceHandled: returns)
      }
      let (source, port) = (RunLoop.Source { _ in }, RunLoop.Port { _, _ in })
      let reader = try RunLoop.PortSource(fileDescriptor: ends.reading) { _ in }
      for item in [source, port, reader] as [RunLoop.Item] { try loop.add(item, to: mode) }
      let works: [(counts: Bool, begin: () throws -> Void)] = [
        (true, { source.signal() }), (true, { _ = write(ends.writing, "12345678", 8) }),
        (true, { try port.sendRight.send(RunLoop.Message()) }), (true, { try loop.performAsSource(in: mode) {} }),
        (false, { try loop.perform(in: mode) {} }), (false, { try loop.enqueue(in: mode) {} }),
        (false, { try loop.add(RunLoop.Timer(fireDate: time.now) { _ in }, to: mode) }),
      ]
      for (number, work) in works.enumerated() {
        for returns in [true, false] {
          let start = time.now
          try work.begin()
          let isEarly = returns && work.counts
          #expect(try run(returns) == (isEarly ? .handledSource : .timedOut), "\(number)")
          #expect(start.duration(to: time.now) == (isEarly ? .zero : .seconds(60)), "\(number)")
        }
      }
    }
  }
}
