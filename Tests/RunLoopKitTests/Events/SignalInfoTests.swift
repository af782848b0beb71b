import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What is known of a signal, and of the end of a process: each field, and the words.
final class SignalInfoTests: XCTestCase {
  /// Runs the body in a process with a source for the signal; then what the source was called with.
  private func infos(
    of signal: RunLoop.Signal, _ count: Int, _ check: ChildChecks, _ send: () -> Void
  ) throws -> [RunLoop.SignalInfo] {
    let (loop, seen) = (RunLoop.current, Box<[RunLoop.SignalInfo]>([]))
    let source = try RunLoop.SignalSource(signal) { _, info in seen.update { $0.append(info) } }
    try loop.add(source)
    send()
    for _ in 0..<count {
      check.equal(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
    }
    source.invalidate()
    return seen.value
  }

  private func queue(_ signal: RunLoop.Signal, _ bits: Int) {
    _ = sigqueue(getpid(), signal.rawValue, sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: bits)))
  }

  func test_RLK_SIGNAL_1_aValueIsANumberAndThePointer() {
    inChild { check in
      let signal = RunLoop.Signal.realtime(3)
      let bits = 0x1234_5678_9ABC_DEF0
      let infos = try self.infos(of: signal, 2, check) {
        self.queue(signal, bits)
        kill(getpid(), signal.rawValue)
      }
      check.equal(infos.map(\.signal), [signal, signal])
      check.equal(infos.map(\.code), [-1, 0])
      check.equal(infos.map(\.value), [Int32(truncatingIfNeeded: bits), 0])
      check.equal(infos.map(\.pointerValue), [UInt64(bits), 0])
      check.equal(infos.map(\.processID), [getpid(), getpid()])
      check.equal(infos.map(\.userID), [getuid(), getuid()])
      check.equal(infos.map(\.status), [0, 0])
    }
  }

  /// Codes of waitid(2): 1 is CLD_EXITED, 2 is CLD_KILLED.
  func test_RLK_SIGNAL_1_theSignalOfAChildTellsItsEnd() {
    inChild { check in
      for isKilled in [false, true] {
        let child = Box<Int32>(0)
        let infos = try self.infos(of: .child, 1, check) {
          child.value = test_fork()
          guard child.value == 0 else { return }
          if isKilled { kill(getpid(), SIGKILL) }
          _exit(7)
        }
        check.equal(infos.map(\.signal), [.child])
        check.equal(infos.map(\.processID), [child.value])
        check.equal(infos.map(\.code), [isKilled ? 2 : 1])
        check.equal(infos.map(\.status), [isKilled ? SIGKILL : 7])
        check.equal(infos.map(\.userID), [getuid()])
        check.equal(waitpid(child.value, nil, 0), child.value)
      }
    }
  }

  /// From the first to the last, each that is sent waits for a source whose mode does not run.
  func test_RLK_SIGNAL_9_allRealtimeSignalsQueue() {
    let count = 65 - RunLoop.Signal.realtime(0).rawValue
    for number in 0..<count {
      XCTAssertTrue(RunLoop.Signal.realtime(number).isRealtime)
      XCTAssertEqual("\(RunLoop.Signal.realtime(number))", "SIGRTMIN+\(number)")
    }
    for number in [0, 31, RunLoop.Signal.realtime(0).rawValue - 1, 65] as [Int32] {
      XCTAssertFalse(RunLoop.Signal(rawValue: number).isRealtime)
      XCTAssertEqual("\(RunLoop.Signal(rawValue: number))", "signal \(number)")
    }
    for signal in [RunLoop.Signal.realtime(0), .realtime(count - 1)] {
      inChild { check in
        let (loop, seen) = (RunLoop.current, Box<[Int32]>([]))
        try loop.add(RunLoop.SignalSource(signal) { _, _ in }, to: "here")
        try loop.add(RunLoop.SignalSource(signal) { _, info in seen.update { $0.append(info.value) } }, to: "there")
        for value in 1...3 { self.queue(signal, value) }
        for mode in ["here", "there"] as [RunLoop.Mode] {
          while try loop.run(in: mode, for: .zero, returnAfterSourceHandled: true) == .handledSource {}
        }
        check.equal(seen.value, [1, 2, 3])
      }
    }
  }

  func testTheWordsOfSignals() {
    let words: [(RunLoop.Signal, Int32, String)] = [
      (.hangup, SIGHUP, "HUP"), (.interrupt, SIGINT, "INT"), (.quit, SIGQUIT, "QUIT"), (.terminate, SIGTERM, "TERM"),
      (.kill, SIGKILL, "KILL"), (.child, SIGCHLD, "CHLD"), (.user1, SIGUSR1, "USR1"), (.user2, SIGUSR2, "USR2"),
      (.alarm, SIGALRM, "ALRM"), (.pipe, SIGPIPE, "PIPE"), (.windowChange, SIGWINCH, "WINCH"),
      (.continue, SIGCONT, "CONT"), (.terminalStop, SIGTSTP, "TSTP"),
    ]
    for (signal, number, name) in words {
      XCTAssertEqual(signal.rawValue, number, name)
      XCTAssertEqual("\(signal)", "SIG\(name)")
    }
    XCTAssertEqual(words.map(\.0).sorted().map(\.rawValue), words.map(\.1).sorted())
    let others = [SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSTOP].map { RunLoop.Signal(rawValue: $0) }
    XCTAssertEqual(others.map(\.description), ["ABRT", "SEGV", "BUS", "ILL", "FPE", "TRAP", "STOP"].map { "SIG\($0)" })
  }

  func testTheWordsOfSources() {
    inChild { check in
      let signals = try RunLoop.SignalSource(.user2, .user1, order: 3) { _, _ in }
      signals.label = "a label"
      let number = test_fork()
      if number == 0 { while true { pause() } }
      defer {
        kill(number, SIGKILL)
        waitpid(number, nil, 0)
      }
      let child = try RunLoop.ChildSource(processID: number, order: 2) { _, _ in }
      let watch = try RunLoop.FileWatch(path: "/tmp", events: .created, order: 1) { _, _ in }
      for (item, beginning) in [
        (signals, "<signal source \"a label\" order 3, SIGUSR1|SIGUSR2"),
        (child, "<child source order 2, process \(number)"), (watch, "<file watch order 1, /tmp"),
      ] as [(RunLoop.Item, String)] {
        check.equal("\(item)", "\(beginning), valid, in no mode>")
        item.invalidate()
        check.equal("\(item)", "\(beginning), invalid>")
      }
    }
  }

  func testTheWordsOfEnds() {
    let words: [(RunLoop.ExitStatus, String)] = [
      (.exited(code: 0), "exited with code 0"), (.exited(code: 255), "exited with code 255"),
      (.signalled(.terminate, coreDumped: false), "ended by SIGTERM"),
      (.signalled(RunLoop.Signal(rawValue: SIGABRT), coreDumped: true), "ended by SIGABRT, memory dumped"),
      (.unknown, "ended, exit status unknown"),
    ]
    for (status, text) in words { XCTAssertEqual("\(status)", text) }
    XCTAssertEqual(words.map(\.0.isSuccess), [true, false, false, false, false])
  }
}
