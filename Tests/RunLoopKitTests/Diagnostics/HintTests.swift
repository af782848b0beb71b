import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Mistakes that no call can refuse: what is said of each, once.
final class HintTests: XCTestCase {
  func test_RLK_DIAG_2_theFirstRunOfALoopThatHasNothing() {
    func play() throws {
      let loop = RunLoop.current
      XCTAssertEqual(try loop.run(in: .default), .finished)
      XCTAssertEqual(try loop.run(in: .default), .finished)
    }
    XCTAssertEqual(said(on: false, play), [])
    XCTAssertEqual(
      said(play),
      [
        "RunLoopKit: run(in: \"kCFRunLoopDefaultMode\"): nothing is in this mode, and the run is finished at once; no mode "
          + "has anything in it"
      ])
  }

  func test_RLK_DIAG_2_aModeWithItemsInTheBackground() {
    XCTAssertEqual(
      said {
        let (loop, source) = (RunLoop.current, RunLoop.Source { _ in })
        source.keepsRunning = false
        try loop.add(source, to: "diag background")
        XCTAssertEqual(try loop.run(in: "diag background"), .finished)
      },
      [
        "RunLoopKit: run(in: \"diag background\"): only items in the background are in this mode, and the run is finished at "
          + "once; set keepsRunning of one of them, or call runUntilStopped(in:)"
      ])
  }

  /// A modal session whose mode nobody has made common. A common mode lacks nothing, so nothing is said of that.
  func test_RLK_DIAG_2_aModeThatIsNotCommon() {
    XCTAssertEqual(
      said {
        let (loop, source) = (RunLoop.current, RunLoop.Source { _ in })
        try loop.add(source, to: .common)
        try loop.perform(in: "diag known") {}
        XCTAssertEqual(try loop.run(in: "diag known", for: .zero), .timedOut)
        for mode: RunLoop.Mode in ["diag panel", "diag known"] { XCTAssertEqual(try loop.run(in: mode), .finished) }
        loop.addCommonMode("diag panel")
        XCTAssertEqual(try loop.run(in: "diag panel", for: .zero), .timedOut)
        source.keepsRunning = false
        try loop.add(RunLoop.Timer.never(), to: "diag other")
        XCTAssertEqual(try loop.run(in: .default), .finished)
      },
      [
        "RunLoopKit: run(in: \"diag panel\"): the loop has no such mode, and the run is finished at once; there is something in "
          + "\"kCFRunLoopDefaultMode\"; addCommonMode(\"diag panel\") adds what is in .common",
        "RunLoopKit: run(in: \"diag known\"): nothing is in this mode, and the run is finished at once; there is something in "
          + "\"kCFRunLoopDefaultMode\"; addCommonMode(\"diag known\") adds what is in .common",
        "RunLoopKit: run(in: \"kCFRunLoopDefaultMode\"): nothing is in this mode, and the run is finished at once; there is "
          + "something in \"diag other\"",
      ])
  }

  /// Calls `body` for the descriptor more than 10,000 times. Some calls show nothing if the thread does not get on.
  private func serve(
    _ descriptor: Int32, _ interest: RunLoop.FileDescriptorSource.Readiness, _ label: String,
    _ body: @escaping @Sendable () -> Void
  ) throws {
    let (loop, calls) = (RunLoop.current, Box(0))
    let source = try RunLoop.FileDescriptorSource(fileDescriptor: descriptor, interest: interest) { _, _ in
      body()
      calls.value += 1
      if calls.value == 12_000 { loop.stop() }
    }
    source.label = label
    try loop.add(source)
    XCTAssertEqual(try loop.run(), .stopped)
    source.invalidate()
  }

  /// A callout that reads less than there is makes progress, and nothing is said.
  func test_RLK_DIAG_11_aCalloutThatNeverReads() {
    let (idle, busy) = (Pipe(), Pipe())
    defer {
      idle.closeBoth()
      busy.closeBoth()
    }
    idle.send("x")
    busy.send(String(repeating: "y", count: 20_000))
    func play(
      _ descriptor: Int32, _ interest: RunLoop.FileDescriptorSource.Readiness, _ label: String, reads: Bool
    ) throws {
      try self.serve(descriptor, interest, label) {
        var byte: UInt8 = 0
        if reads { XCTAssertEqual(read(descriptor, &byte, 1), 1) }
      }
    }
    XCTAssertEqual(
      said {
        try play(busy.reading, .readable, "diag reads", reads: true)
        try play(idle.reading, .readable, "diag reads not", reads: false)
        try play(idle.writing, .writable, "diag writes not", reads: false)
      },
      [
        "RunLoopKit: a descriptor source \"diag reads not\" was called 10000 times in a row, and its descriptor "
          + "\(idle.reading) is as readable as before: the callout does not use it, and the loop never sleeps; read until the "
          + "call would block, or take the interest away",
        "RunLoopKit: a descriptor source \"diag writes not\" was called 10000 times in a row, and its descriptor "
          + "\(idle.writing) is as writable as before: the callout does not use it, and the loop never sleeps; take .writable "
          + "out of its interest while there is nothing to write",
      ])
  }

  /// Each leaves the descriptor as it was: as much comes as was read, all is read that was written, and of a counter
  /// the kernel does not tell how much is left.
  func test_RLK_DIAG_11_aCalloutThatUsesItsDescriptor() {
    let (full, empty, counter) = (Pipe(), Pipe(), EventCounter(isSemaphore: true))
    defer {
      full.closeBoth()
      empty.closeBoth()
    }
    full.send("x")
    counter.add(20_000)
    XCTAssertEqual(
      said {
        try self.serve(full.reading, .readable, "diag refilled") {
          var byte: UInt8 = 0
          XCTAssertEqual(read(full.reading, &byte, 1), 1)
          full.send("x")
        }
        try self.serve(empty.writing, .writable, "diag emptied") {
          var byte: UInt8 = 0
          empty.send("x")
          XCTAssertEqual(read(empty.reading, &byte, 1), 1)
          let end = RunLoop.Instant.now.advanced(by: .microseconds(25))
          while RunLoop.Instant.now < end {}
        }
        try self.serve(counter.descriptor, .readable, "diag counted") {
          var count: UInt64 = 0
          XCTAssertEqual(read(counter.descriptor, &count, 8), 8)
        }
      }, [])
  }

  /// The number is one that no other thread of the tests gets meanwhile.
  func test_RLK_DIAG_11_aWatchedDescriptorThatWasClosed() {
    let pipe = Pipe()
    defer { pipe.closeBoth() }
    let number = fcntl(pipe.reading, F_DUPFD_CLOEXEC, 700)
    XCTAssertEqual(
      said {
        let loop = RunLoop.current
        let source = try RunLoop.FileDescriptorSource(fileDescriptor: number, interest: .readable) { _, _ in }
        source.label = "diag closed"
        try loop.add(source)
        XCTAssertEqual(try loop.run(for: .milliseconds(10)), .timedOut)
        close(number)
        for _ in 1...2 { XCTAssertEqual(try loop.run(for: .milliseconds(10)), .timedOut) }
        source.invalidate()
      },
      [
        "RunLoopKit: a descriptor source \"diag closed\": its descriptor \(number) was closed while it was a member, and "
          + "brings no more events; invalidate the source first, then close"
      ])
  }

  /// It was removed before, or it is one that epoll does not watch, and the source is called all the same.
  func test_RLK_DIAG_11_aClosedDescriptorThatIsNotWatched() {
    let (pipe, null) = (Pipe(), open("/dev/null", O_RDONLY | O_CLOEXEC))
    defer { pipe.closeBoth() }
    let (number, another) = (fcntl(pipe.reading, F_DUPFD_CLOEXEC, 700), fcntl(null, F_DUPFD_CLOEXEC, 700))
    close(null)
    XCTAssertEqual(
      said {
        let (loop, calls) = (RunLoop.current, Box(0))
        let removed = try RunLoop.FileDescriptorSource(fileDescriptor: number, interest: .readable) { _, _ in }
        let ready = try RunLoop.FileDescriptorSource(
          fileDescriptor: another, interest: .readable, unpollable: .alwaysReady
        ) { source, _ in
          calls.value += 1
          source.invalidate()
        }
        try loop.add(RunLoop.Timer.never())
        try loop.add(ready)
        try loop.add(removed)
        loop.remove(removed)
        for descriptor in [number, another] { close(descriptor) }
        XCTAssertEqual(try loop.run(for: .milliseconds(10)), .timedOut)
        XCTAssertEqual(calls.value, 1)
        removed.invalidate()
      }, [])
  }

  /// When the next run begins. A stop with no run behind it does no harm, and nothing is said of it.
  func test_RLK_DIAG_12_aStopThatFoundNoRun() {
    func play(_ runs: Int) throws {
      let (loop, source) = (RunLoop.current, RunLoop.Source { _ in })
      try loop.add(source)
      for _ in 0..<runs {
        loop.stop()
        XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      }
      loop.stop()
      source.invalidate()
    }
    XCTAssertEqual(said { try play(0) }, [])
    XCTAssertEqual(
      said { try play(2) },
      [
        "RunLoopKit: stop(): no run of the loop was on the stack, and the run that begins now is not stopped; to stop a run "
          + "that is still to come, queue a block before it: perform { loop.stop() }"
      ])
  }

  /// It has found a run, which has no enclosing one.
  func test_RLK_DIAG_12_aStopThatARequestHasTaken() {
    XCTAssertEqual(
      said {
        let (loop, source) = (RunLoop.current, RunLoop.Source { _ in })
        let port = RunLoop.Port(replying: { _, message in
          yieldUntil(loop.currentMode == "asking")
          loop.stop()
          return message
        })
        let worker = RunLoop.Thread(name: "answers") { try $0.add(port) }
        try worker.start()
        XCTAssertEqual(try port.sendRight.request(RunLoop.Message(id: 9), in: "asking").id, 9)
        worker.stop()
        try worker.join()
        try loop.add(source)
        XCTAssertEqual(try loop.run(for: .zero), .timedOut)
        source.invalidate()
      }, [])
  }

  func test_RLK_DIAG_13_callsOnWhatIsInvalid() {
    XCTAssertEqual(
      said {
        let (source, timer, port) = (RunLoop.Source { _ in }, RunLoop.Timer.never(), RunLoop.Port { _, _ in })
        (source.label, timer.label) = ("diag invalid", "diag invalid")
        for item in [source, timer, port] { item.invalidate() }
        for _ in 1...2 {
          source.signal()
          timer.rearm(after: .zero)
          timer.rearm(after: .zero, jitter: .zero)
          XCTAssertEqual(thrown { try port.sendRight.trySend(RunLoop.Message(id: 1)) }, .portInvalid)
        }
        let commit = try RunLoop.Commit(on: .current, at: .afterReady) {}
        commit.invalidate()
        commit.setNeeded()
      },
      [
        "RunLoopKit: signal(): a source \"diag invalid\" is invalid; an invalidated item is over: make another one",
        "RunLoopKit: rearm(after:): a timer \"diag invalid\" is invalid; an invalidated timer is over, as is a one-shot timer "
          + "that has fired: make it rearmable",
        "RunLoopKit: rearm(after:jitter:): a timer \"diag invalid\" is invalid; an invalidated timer is over, as is a one-shot "
          + "timer that has fired: make it rearmable",
        "RunLoopKit: send: the port is gone, and the message is not sent; a port ends when it is invalidated or released, and "
          + "with the last loop that served it",
      ])
  }

  #if DEBUG
    func test_RLK_DIAG_14_anItemThatWasNeverAdded() {
      func make(_ label: String) -> RunLoop.Timer {
        let timer = RunLoop.Timer.never()
        timer.label = label
        return timer
      }
      XCTAssertEqual(
        said {
          for mode in [RunLoop.Mode.default, .common] {
            let timer = make("diag removed")
            try RunLoop.current.add(timer, to: mode)
            RunLoop.current.remove(timer, from: mode)
          }
          make("diag given up").invalidate()
          let ended = Box<RunLoop?>(nil)
          onThread { ended.value = RunLoop.current }
          let loop = try XCTUnwrap(ended.value)
          XCTAssertEqual(thrown { try RunLoop.Commit(on: loop, at: .afterReady) {} }, .loopEnded)
          for _ in 1...2 { _ = make("diag dropped") }
        },
        [
          "RunLoopKit: a timer \"diag dropped\" was released and never added to a loop; add(_:to:) makes the loop call and "
            + "retain it"
        ])
    }

    /// A sequence adds its item when a task waits, so nothing is said of one that nobody has awaited.
    func test_RLK_DIAG_14_anEventSourceThatWasNeverAdded() {
      XCTAssertEqual(
        said {
          let child = try RunLoop.ChildSource.spawn("true")
          try RunLoop.ChildSource(processID: child) { _, _ in }.label = "diag child"
          XCTAssertEqual(waitpid(child, nil, 0), child)
          try RunLoop.FileWatch(path: "/", events: .attributes) { _, _ in }.label = "diag watch"
          try RunLoop.SignalSource(.user2) { _, _ in }.label = "diag signal"
          _ = try RunLoop.current.signals(.user2)
          _ = try RunLoop.current.fileEvents(at: "/")
        },
        ["child", "watch", "signal"].map {
          "RunLoopKit: an event source \"diag \($0)\" was released and never added to a loop; add(_:to:) makes the loop "
            + "call and retain it"
        })
    }
  #endif

  func test_RLK_DIAG_15_aModeThatIsNamedLikeAConstant() {
    XCTAssertEqual(
      said {
        let (loop, source) = (RunLoop.current, RunLoop.Source { _ in })
        try loop.add(source, to: "default")
        try loop.add(source, to: .default)
        try loop.add(source, to: .common)
        try loop.perform(in: "tracking") {}
        source.invalidate()
      },
      [("default", "kCFRunLoopDefaultMode"), ("tracking", "UITrackingRunLoopMode")].map { name, meant in
        "RunLoopKit: RunLoop.Mode(\"\(name)\") is a mode of its own, not RunLoop.Mode.\(name), whose name is \"\(meant)\"; "
          + "write .\(name)"
      })
  }
}
