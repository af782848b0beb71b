import Metrics
import MetricsTestKit
import RunLoopKit
import RunLoopMetrics
import RunLoopTesting
import Testing

struct RunLoopMetricsTests {
  @Test func anExportAddsWhatWasDone() async throws {
    let test = TestMetrics()
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      let metrics = RunLoopMetrics(of: loop, factory: test)
      try loop.add(
        RunLoop.Timer(after: .seconds(1), interval: .seconds(1)) { _ in time.advance(by: .milliseconds(250)) })
      for run in 1...3 {
        try loop.perform {}
        try loop.run(for: .seconds(4))
        metrics.export()
        metrics.export()  // nothing was done in between
        #expect(test.counterTotal(label: "run_loop_runs") == run)
        #expect(test.counterTotal(label: "run_loop_blocks_performed") == run)
        #expect(test.counterTotal(label: "run_loop_timers_fired") == 4 * Int64(run))
        let busy = test.counterTotal(label: "run_loop_busy_nanoseconds")
        #expect(busy == Int64(run) * 1_000_000_000)
      }
      let ratios = try test.expectGauge("run_loop_busy_ratio").values
      #expect(ratios.count == 3)
    }
  }

  @Test func timesAddUp() async throws {
    let test = TestMetrics()
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      let metrics = RunLoopMetrics(of: loop, factory: test)
      try loop.add(RunLoop.Timer(after: .seconds(3)) { _ in time.advance(by: .seconds(1)) })
      try loop.run()
      metrics.export()
      #expect(test.counterTotal(label: "run_loop_sleep_nanoseconds") == 3_000_000_000)
      #expect(test.counterTotal(label: "run_loop_busy_nanoseconds") == 1_000_000_000)
      #expect(try test.expectGauge("run_loop_busy_ratio").lastValue == 0.25)
    }
  }

  @Test func aTimerExports() async throws {
    let test = TestMetrics()
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      let metrics = RunLoopMetrics(of: loop, factory: test)
      let timer = metrics.timer(every: .seconds(10), tolerance: .zero)
      try loop.add(timer)
      #expect(loop.isEmpty())  // it keeps no mode
      try loop.runUntil(.seconds(25), time)
      #expect(try test.expectCounter("run_loop_passes").values.count == 2)
      timer.invalidate()
      try loop.runUntil(.seconds(25), time)
      #expect(try test.expectCounter("run_loop_passes").values.count == 2)
    }
  }

  @Test func whatIsResetBeginsAgain() async throws {
    let test = TestMetrics()
    try await VirtualTime.run { time in
      let loop = RunLoop.current
      let metrics = RunLoopMetrics(of: loop, factory: test)
      for _ in 1...3 { try loop.perform {} }
      try loop.run(for: .zero)
      metrics.export()
      loop.resetStatistics()
      try loop.perform {}
      try loop.run(for: .zero)
      metrics.export()
      #expect(test.counterTotal(label: "run_loop_blocks_performed") == 4)
    }
  }

  @Test func loopsAreToldApart() async throws {
    let test = TestMetrics()
    try await VirtualTime.run { time in
      let metrics = RunLoopMetrics(of: .current, prefix: "ui", dimensions: [("loop", "main")], factory: test)
      try RunLoop.current.perform {}
      try RunLoop.current.run(for: .zero)
      metrics.export()
      #expect(test.counterTotal(label: "ui_blocks_performed", dimensions: [("loop", "main")]) == 1)
      #expect(test.counters.count == 12)
    }
    #expect(test.counters.isEmpty)  // destroyed with it
  }

  @Test func whatAnEndedLoopHasDoneIsExported() async throws {
    let test = TestMetrics()
    try await VirtualTime.run { time in
      let thread = RunLoop.Thread(name: "worker")
      try thread.start()
      let metrics = RunLoopMetrics(of: thread.loop!, factory: test)
      for _ in 1...5 { try thread.loop!.add(RunLoop.Timer(after: .seconds(1)) { _ in }) }
      time.sleep(until: time.now.advanced(by: .seconds(2)))
      thread.stop()
      try thread.join()
      metrics.export()
      #expect(test.counterTotal(label: "run_loop_timers_fired") == 5)
    }
  }
}

extension RunLoop {
  fileprivate func runUntil(_ duration: Duration, _ time: VirtualTime) throws {
    let keeper = Source { _ in }
    try add(keeper)
    try run(for: duration)
    keeper.invalidate()
  }
}
