import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Where signals wait.
final class SignalQueueTests: XCTestCase {
  private static func send(_ value: Int, _ signal: RunLoop.Signal) -> Bool {
    sigqueue(getpid(), signal.rawValue, sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: value))) == 0
  }

  /// How many are pending with the kernel; they are gone then.
  private static func takePending(_ signal: RunLoop.Signal) -> Int {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, signal.rawValue)
    var (count, none) = (0, timespec())
    while sigtimedwait(&set, nil, &none) == signal.rawValue { count += 1 }
    return count
  }

  /// The kernel keeps what is not called for: it neither drops any nor takes longer for the many.
  func test_RLK_SIGNAL_22_aSourceReadsNoFurtherThanItIsCalled() {
    inChild { check in
      let (loop, signal, seen) = (RunLoop.current, RunLoop.Signal.realtime(6), Box<[Int32]>([]))
      for _ in 0..<2 {
        try loop.add(RunLoop.SignalSource(signal) { _, info in seen.update { $0.append(info.value) } })
      }
      for value in 1...100 { check.that(Self.send(value, signal)) }
      for _ in 0..<6 { try loop.run(for: .zero) }
      check.equal(seen.value, [1, 1, 2, 2, 3, 3])
      check.equal(Self.takePending(signal), 97)
    }
  }

  /// More than any queue holds, while the mode runs.
  func test_RLK_SIGNAL_22_noneIsLostHoweverManyWait() {
    inChild { check in
      let (loop, signal) = (RunLoop.current, RunLoop.Signal.realtime(6))
      let (sent, next, wrong) = (Box(0), Box(0), Box(0))
      let total = isSlow ? 10_000 : 80_000
      @Sendable func sendSome() {
        for _ in 0..<80 where sent.value < total && Self.send(sent.value, signal) { sent.value += 1 }
      }
      let source = try RunLoop.SignalSource(signal) { _, info in
        if info.value != next.value { wrong.value += 1 }
        next.value += 1
        sendSome()
        if next.value == total { loop.stop() }
      }
      try loop.add(source)
      sendSome()
      check.equal(try loop.run(for: .seconds(50)), .stopped)
      check.equal(next.value, total)
      check.equal(wrong.value, 0)
      check.equal(source.lostSignals, 0)
    }
  }

  /// What is read for one source waits for another one, whose mode runs later: there standard signals coalesce, each
  /// with its like, and count again after the call.
  func test_RLK_SIGNAL_2_alsoForASourceWhoseModeRunsLater() {
    inChild { check in
      let (loop, realtime, log) = (RunLoop.current, RunLoop.Signal.realtime(6), Box<[String: [RunLoop.Signal]]>([:]))
      for mode in ["here", "there"] {
        let source = try RunLoop.SignalSource(.user1, .user2, realtime) { _, info in
          log.update { $0[mode, default: []].append(info.signal) }
        }
        try loop.add(source, to: RunLoop.Mode(rawValue: mode))
      }
      for _ in 1...2 {
        log.value = [:]
        let sent: [RunLoop.Signal] = [.user1, realtime, .user2, .user1, realtime, .user1, .user2]
        for signal in sent {
          kill(getpid(), signal.rawValue)
          check.equal(try loop.run(in: "here", for: .zero, returnAfterSourceHandled: true), .handledSource)
        }
        check.equal(log.value, ["here": sent])
        while try loop.run(in: "there", for: .zero, returnAfterSourceHandled: true) == .handledSource {}
        check.equal(log.value["there"], [.user1, realtime, .user2, realtime])
      }
    }
  }

  /// Its turns serve no other source, and the turns of no other source serve it.
  func testTheLimitOfASourceIsItsOwn() {
    inChild { check in
      let (loop, signal, counts) = (RunLoop.current, RunLoop.Signal.realtime(6), Box<[Int: Int]>([:]))
      for most in [2, Int.max, 3] {
        let limit = most == .max ? nil : RunLoop.RateLimit(count: most, per: .seconds(3600))
        try loop.add(RunLoop.SignalSource(signal, limit: limit) { _, _ in counts.update { $0[most, default: 0] += 1 } })
      }
      for value in 1...6 { check.that(Self.send(value, signal)) }
      for _ in 0..<30 { try loop.run(for: .zero) }
      check.equal(counts.value, [2: 2, 3: 3, .max: 6])
    }
  }

  /// For a source whose mode does not run 65,536 wait while another one is called; a loss is counted.
  func test_RLK_SIGNAL_23_whatIsLostForASourceIsCounted() {
    inChild { check in
      let (loop, signal) = (RunLoop.current, RunLoop.Signal.realtime(6))
      let (here, there, wrong) = (Box(0), Box(0), Box(0))
      let said = Box<[String]>([])
      RunLoop.diagnostics.handler = { _, text in said.update { $0.append(text) } }
      try loop.add(RunLoop.SignalSource(signal) { _, _ in here.value += 1 })
      let late = try RunLoop.SignalSource(signal, .user1) { _, info in
        if info.signal == signal, info.value != there.value { wrong.value += 1 }
        there.value += 1
      }
      late.label = "late"
      try loop.add(late, to: "other")
      for value in 0..<65_540 {
        check.that(Self.send(value, signal))
        try loop.run(for: .zero)
      }
      check.equal(here.value, 65_540)
      check.equal(late.lostSignals, 4)
      check.equal(said.value.count, 1)  // of the first loss
      let words = said.value.first ?? ""
      check.that(words.contains("a signal source \"late\" loses signals (the first is SIGRTMIN+6)"), words)
      kill(getpid(), SIGUSR1)  // waits with the kernel: nobody has read it
      while try loop.run(in: "other", for: .zero, returnAfterSourceHandled: true) == .handledSource {}
      check.equal(there.value, 65_537)
      check.equal(wrong.value, 0)
      check.equal(late.lostSignals, 4)
    }
  }
}
