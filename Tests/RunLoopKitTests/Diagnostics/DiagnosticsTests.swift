import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What is said on standard error of calls that do less than was asked, once each.
final class DiagnosticsTests: XCTestCase {
  func test_RLK_DIAG_1_whatIsNotAddedSaysWhyOnce() {
    let held = RunLoop.Timer.never()
    held.label = "diag held"
    XCTAssertTrue(try RunLoop.current.add(held, to: "diag"))
    defer { held.invalidate() }
    func play() throws {
      let loop = RunLoop.current
      let over = RunLoop.Timer.never()
      over.label = "diag over"
      over.invalidate()
      for _ in 1...3 { XCTAssertFalse(try loop.add(over, to: "diag")) }
      for _ in 1...3 { XCTAssertFalse(try loop.add(held, to: "diag")) }
      let source = RunLoop.Source { _ in }
      for _ in 1...3 { try loop.add(source, to: "diag") }  // there already: nothing to say
    }
    XCTAssertEqual(said(on: false, play), [])
    XCTAssertEqual(
      said(play),
      [
        "RunLoopKit: add(_:to: \"diag\"): a timer \"diag over\" is invalid and is not added; an invalidated item is "
          + "over, as is a one-shot timer that has fired",
        "RunLoopKit: add(_:to: \"diag\"): a timer \"diag held\" is in another loop and is not added; a timer and an observer "
          + "belong to one loop at a time",
      ])
    XCTAssertEqual(said(play), [])
  }

  func test_RLK_DIAG_1_whatIsNotAddedIsNamedByItsKind() throws {
    let (counter, pipe) = (EventCounter(), Pipe())
    defer { pipe.closeBoth() }
    let items: [(RunLoop.Item, String)] = [
      (RunLoop.Source { _ in }, "a source"), (RunLoop.Port { _, _ in }, "a port"),
      (try RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in }, "a port source"),
      (
        try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, _ in },
        "a descriptor source"
      ),
      (try RunLoop.FileWatch(path: "/", events: .changes) { _, _ in }, "an event source"),
      (RunLoop.Timer.never(), "a timer"), (RunLoop.Observer(.all) { _, _ in }, "an observer"),
    ]
    XCTAssertEqual(
      said {
        for (item, _) in items {
          item.invalidate()
          XCTAssertFalse(try RunLoop.current.add(item, to: "diag kinds"))
        }
      },
      items.map { _, name in
        "RunLoopKit: add(_:to: \"diag kinds\"): \(name) is invalid and is not added; an invalidated item is over, as is a "
          + "one-shot timer that has fired"
      })
  }

  func test_RLK_DIAG_1_anItemOfTheParentProcessIsNotAdded() {
    let source = RunLoop.Source { _ in }
    let lines = said {
      let child = test_fork()
      if child == 0 {
        let isAdded = try? RunLoop.current.add(source)
        _exit(isAdded == false ? 0 : 1)
      }
      var status: Int32 = -1
      XCTAssertEqual(waitpid(child, &status, 0), child)
      XCTAssertEqual(status, 0)
    }
    XCTAssertEqual(
      lines,
      [
        "RunLoopKit: add(_:to: \"kCFRunLoopDefaultMode\"): a source was made by the parent process and is not "
          + "added; make another one after fork(2)"
      ])
  }

  /// Those with items and those with jobs, by name. Of a loop whose work is done nothing is said.
  func test_RLK_DIAG_2_theModesThatHaveSomethingAreNamed() {
    XCTAssertEqual(
      said {
        let loop = RunLoop.current
        try loop.performAsSource {}
        XCTAssertEqual(try loop.run(in: .default), .finished)
        XCTAssertEqual(try loop.run(in: .default), .finished)
        Task(executorPreference: loop.executor(in: "diag b")) {}
        let items = ["diag c", "diag a"].map { (RunLoop.Source { _ in }, RunLoop.Mode(rawValue: $0)) }
        for (source, mode) in items { try loop.add(source, to: mode) }
        XCTAssertEqual(try loop.run(in: "diag d"), .finished)
        for (source, _) in items { source.invalidate() }
        XCTAssertEqual(try loop.run(in: "diag b"), .finished)
      },
      [
        "RunLoopKit: run(in: \"diag d\"): the loop has no such mode, and the run is finished at once; there is something in "
          + "\"diag a\", \"diag b\", \"diag c\""
      ])
  }

  func test_RLK_DIAG_2_aMistypedModeIsSaid() {
    XCTAssertEqual(
      said {
        let loop = RunLoop.current
        for _ in 1...2 { XCTAssertEqual(try loop.run(in: "diag defualt"), .finished) }
        let source = RunLoop.Source { _ in }
        try loop.add(source, to: "diag typo")
        XCTAssertEqual(try loop.run(), .finished)
        XCTAssertEqual(try loop.run(in: "diag typo", for: .zero), .timedOut)
        XCTAssertFalse(
          try loop.runAllModes {
            source.invalidate(); return false
          })  // looks into empty modes: as it should
        source.invalidate()
        XCTAssertEqual(try loop.run(in: "diag typo"), .finished)  // everything is done
      },
      [
        "RunLoopKit: run(in: \"diag defualt\"): the loop has no such mode, and the run is finished at once; no mode has "
          + "anything in it",
        "RunLoopKit: run(in: \"kCFRunLoopDefaultMode\"): nothing is in this mode, and the run is finished at once; there is "
          + "something in \"diag typo\"",
      ])
  }

  func test_RLK_DIAG_3_valuesThatCountAsOthers() {
    func play() throws {
      // What is as documented: nothing is said.
      _ = RunLoop.Timer(fireDate: .now, interval: .zero) { _ in }
      _ = RunLoop.DisplayLink { _, _ in }
      try RunLoop.current.performAsSource {}
      XCTAssertEqual(try RunLoop.current.run(), .finished)
      XCTAssertEqual(try RunLoop.current.run(for: .seconds(-1)), .finished)
      XCTAssertEqual(try RunLoop.current.run { 1 }, 1)
      XCTAssertEqual(RunLoop.Timer(fireDate: .now, interval: .seconds(-3)) { _ in }.interval, .zero)
      let timer = RunLoop.Timer(fireDate: .now, tolerance: .seconds(-4)) { _ in }
      XCTAssertEqual(timer.tolerance, .zero)
      timer.tolerance = .seconds(-5)
      XCTAssertEqual(timer.tolerance, .zero)
      XCTAssertEqual(RunLoop.RateLimit(count: 0, per: .seconds(1)).count, 1)
      XCTAssertEqual(RunLoop.RateLimit(count: -7, per: .seconds(-1)).count, 1)
      XCTAssertEqual(RunLoop.FrameRate(frames: 0).frames, 1)
      XCTAssertEqual(RunLoop.FrameRate(frames: 2, per: .seconds(-1)).duration, .nanoseconds(2))
      XCTAssertEqual(RunLoop.Port(queueLimit: 0) { _, _ in }.queueLimit, 1)
    }
    XCTAssertEqual(said(on: false, play), [])
    XCTAssertEqual(
      said(play).map { String($0.dropFirst("RunLoopKit: ".count)) }.filter { !$0.contains("never added") },
      [
        "Timer: the interval -3.0 seconds counts as zero: the timer fires once",
        "Timer: the tolerance -4.0 seconds counts as zero", "Timer: the tolerance -5.0 seconds counts as zero",
        "RateLimit: the count 0 counts as 1", "RateLimit: the count -7 counts as 1",
        "RateLimit: the period -1.0 seconds limits nothing",
        "FrameRate: 0 frames per 1.0 seconds count as 1 frames per 1.0 seconds",
        "FrameRate: 2 frames per -1.0 seconds count as 2 frames per 2e-09 seconds",
        "Port: the queue limit 0 counts as 1",
      ])
  }

  /// The largest durations count as documented: none traps, nothing fires early.
  func test_RLK_DIAG_4_theLargestDurations() {
    onThread {
      let loop = RunLoop.current
      let longest = Duration.seconds(Int64.max)
      let timer = RunLoop.Timer(fireDate: .now.advanced(by: longest), interval: longest, tolerance: longest) { _ in }
      XCTAssertEqual(timer.fireDate, .distantFuture)
      XCTAssertTrue(timer.isRearmable)
      try loop.add(timer)
      timer.rearm(after: longest)
      XCTAssertEqual(timer.fireDate, .distantFuture)
      timer.tolerance = .zero
      timer.rearm(after: .seconds(Int64.min))
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertEqual(timer.fireDate, .distantFuture)
      let performed = try loop.perform(after: longest) {}
      XCTAssertTrue(performed.isPending && performed.cancel())
      XCTAssertEqual(RunLoop.FrameRate(frames: Int.max, per: longest).frames, 1_000_000_000)
      XCTAssertEqual(RunLoop.FrameRate(frames: Int.min, per: longest).duration, .seconds(10_000_000))
      loop.defaultTimerTolerance = .seconds(Int64.min)
      XCTAssertEqual(loop.defaultTimerTolerance, .zero)
      loop.spinLimit = .seconds(Int64.min)
      XCTAssertEqual(loop.spinLimit, .zero)
      loop.spinLimit = longest
      XCTAssertEqual(loop.spinLimit, .microseconds(50))
      loop.spinLimit = .zero
      XCTAssertEqual(try loop.run(for: .seconds(Int64.min)), .timedOut)
      loop.stop()
      try loop.perform { loop.stop() }
      XCTAssertEqual(try loop.run(for: longest), .stopped)
      XCTAssertEqual(try loop.performAndWait(timeout: .seconds(Int64.min)) { 3 }, 3)
    }
  }

  func test_RLK_DIAG_5_theCommonModesAreNoModeToRunIn() {
    onThread {
      let loop = RunLoop.current
      let text = thrown { try loop.runUntilStopped(in: .common) }?.description ?? ""
      XCTAssertTrue(text.hasPrefix("runUntilStopped(in:): no loop runs in .common"), text)
      let refused = [
        thrown { _ = try loop.hostDescriptor(in: .common) }, thrown { _ = try loop.prepareToWait(in: .common) },
        thrown { _ = try loop.runPendingWork(in: .common) },
      ]
      let calls = ["hostDescriptor(in:)", "prepareToWait(in:)", "runPendingWork(in:)"]
      XCTAssertEqual(refused, calls.map { _ in .commonModeNotRunnable })
      XCTAssertEqual(refused.map { $0?.call }, calls)
    }
  }

  /// A handler gets what would be written, and nothing is.
  func test_RLK_DIAG_7_aHandlerIsToldInPlaceOfStandardError() {
    let told = Box<[String]>([])
    defer { RunLoop.diagnostics = RunLoop.Diagnostics() }
    RunLoop.diagnostics.handler = { level, text in told.update { $0.append("\(level): \(text)") } }
    XCTAssertEqual(said { XCTAssertEqual(try RunLoop.current.run(in: "diag handled"), .finished) }, [])
    XCTAssertEqual(
      told.value.filter { $0.contains("diag handled") },
      [
        "hint: run(in: \"diag handled\"): the loop has no such mode, and the run is finished at once; no mode has "
          + "anything in it"
      ])
    RunLoop.diagnostics.level = nil
    XCTAssertNil(RunLoop.diagnostics.level)
    onThread { XCTAssertEqual(try RunLoop.current.run(in: "diag silent"), .finished) }
    RunLoop.diagnostics.handler = nil
    XCTAssertEqual(told.value.filter { $0.contains("diag silent") }, [])
  }

  /// Of the calling thread.
  private static var blocksSignals: Bool {
    var mask = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &mask)
    return sigismember(&mask, SIGUSR2) == 1
  }

  /// What is found under the loop's lock is told without it: this handler uses the loop.
  func test_RLK_DIAG_7_aHandlerMayUseTheLoopThatIsReported() {
    defer { RunLoop.diagnostics = RunLoop.Diagnostics() }
    onThread {
      let (loop, gate, told, teller) = (RunLoop.current, Gate(), Box<[String]>([]), Box(""))
      let source = RunLoop.Source { _ in }
      try loop.add(source)
      RunLoop.diagnostics.handler = { level, text in
        guard text.contains("epoll descriptor"), loop.contains(source) else { return }
        told.update { $0.append("\(level): \(text)") }
        XCTAssertTrue(Self.blocksSignals)
        teller.value = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? ""
        gate.open()
      }
      try loop.run(for: .milliseconds(1))
      for count in 1...2 {
        close(try loop.hostDescriptor().fileDescriptor)
        try loop.run(for: .milliseconds(1))
        XCTAssertTrue(gate.wait(atMost: 50))
        XCTAssertFalse(Self.blocksSignals)
        // The thread that tells is over: what is found next has another one.
        yieldUntil(access("/proc/\(teller.value)", F_OK) != 0)
        let text = "other code has closed or replaced a run loop's epoll descriptor; a new one has its place"
        XCTAssertEqual(told.value, (0..<count).map { _ in "warning: \(text)" })
      }
    }
  }

  /// Not by the thread that tells, which only the parent has.
  func test_RLK_DIAG_7_aChildOfForkIsTold() {
    defer { RunLoop.diagnostics = RunLoop.Diagnostics() }
    let (begun, goOn, parent) = (Gate(), Gate(), getpid())
    RunLoop.diagnostics.handler = { _, text in
      guard text.contains("epoll descriptor") else { return }
      if getpid() != parent { _exit(0) }
      begun.open()
      goOn.wait()
    }
    onThread {
      func loseDescriptor() throws {
        let loop = RunLoop.current
        try loop.add(RunLoop.Source { _ in })
        try loop.run(for: .milliseconds(1))
        close(try loop.hostDescriptor().fileDescriptor)
        try loop.run(for: .milliseconds(1))
      }
      try loseDescriptor()
      XCTAssertTrue(begun.wait(atMost: 50))
      let child = test_fork()
      if child == 0 {
        alarm(50)
        try? loseDescriptor()
        while true { pause() }  // until the handler ends it
      }
      var status: Int32 = -1
      XCTAssertEqual(waitpid(child, &status, 0), child)
      XCTAssertEqual(status, 0)
      goOn.open()
    }
  }

  /// The text is one line, whatever a name has in it.
  func test_RLK_DIAG_8_aTextIsOneLine() {
    XCTAssertEqual(
      said { XCTAssertEqual(try RunLoop.current.run(in: "diag one\nRunLoopKit: \u{1B}[2Jtwo\0"), .finished) },
      [
        "RunLoopKit: run(in: \"diag one\\nRunLoopKit: \\u{1B}[2Jtwo\\0\"): the loop has no such mode, and the run is "
          + "finished at once; no mode has anything in it"
      ])
  }

  /// What a handler holds ends with it.
  func test_RLK_DIAG_7_aHandlerThatIsReplacedIsReleased() {
    /// No lock is held when it goes.
    final class Asking: Sendable {
      deinit { _ = RunLoop.diagnostics }
    }
    weak var held: Asking?
    do {
      let asking = Asking()
      held = asking
      RunLoop.diagnostics.handler = { _, _ in withExtendedLifetime(asking) {} }
    }
    XCTAssertNotNil(held)
    RunLoop.diagnostics = RunLoop.Diagnostics()
    XCTAssertNil(held)
  }
}
