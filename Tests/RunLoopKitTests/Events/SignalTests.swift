import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Numbers in names: the cases of faults that are meant.
final class SignalTests: XCTestCase {
  private static func isBlocked(_ signal: RunLoop.Signal) -> Bool {
    var mask = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &mask)
    return sigismember(&mask, signal.rawValue) == 1
  }

  private static func send(_ signal: RunLoop.Signal) { _ = kill(getpid(), signal.rawValue) }

  func test_RLK_SIGNAL_1_isToldWithItsSender() {
    inChild { check in
      let loop = RunLoop.current
      let seen = Box<[RunLoop.SignalInfo]>([])
      let source = try RunLoop.SignalSource(.user1, .terminate) { _, info in seen.update { $0.append(info) } }
      try loop.add(source)
      check.equal(source.signals, [.user1, .terminate])
      Self.send(.terminate)
      check.equal(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      check.equal(seen.value.map(\.signal), [.terminate])
      check.equal(seen.value.first?.processID, getpid())
      check.equal(seen.value.first?.userID, getuid())
      check.equal(seen.value.first?.code, 0)
      check.equal(try loop.run(for: .zero), .timedOut)
      check.equal(seen.value.count, 1)
    }
  }

  /// Case 87.
  func test_RLK_SIGNAL_2_beforeTheRunInACalloutAndWhileItSleepsItIsToldOnce() {
    inChild { check in
      let loop = RunLoop.current
      let count = Box(0)
      let source = try RunLoop.SignalSource(.user1) { _, _ in
        count.value += 1
        if count.value == 1 { Self.send(.user1) }  // in its own callout
      }
      Self.send(.user1)  // before it is a member
      try loop.add(source)
      for _ in 0..<4 { try loop.run(for: .zero) }
      check.equal(count.value, 2)
      let timer = RunLoop.Timer(fireDate: .now.advanced(by: .milliseconds(5))) { _ in Self.send(.user1) }
      try loop.add(timer)
      check.equal(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      check.equal(count.value, 3)
      // Twice before it is told is once, as ever with signals.
      Self.send(.user1)
      Self.send(.user1)
      for _ in 0..<4 { try loop.run(for: .zero) }
      check.equal(count.value, 4)
    }
  }

  /// A signal that comes while the loop sleeps in epoll_wait(2), from another process.
  func test_RLK_SIGNAL_3_wakesASleepingLoop() {
    inChild { check in
      let loop = RunLoop.current
      let parent = getpid()
      let count = Box(0)
      try loop.add(RunLoop.SignalSource(.user2) { _, _ in count.value += 1 })
      let child = test_fork()
      if child == 0 {
        kill(parent, SIGUSR2)
        _exit(0)
      }
      check.equal(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      check.equal(count.value, 1)
      waitpid(child, nil, 0)
    }
  }

  func test_RLK_SIGNAL_4_eachOfSeveralSourcesGetsEachSignalInOrder() {
    inChild { check in
      let loop = RunLoop.current
      let log = Box<[String]>([])
      func source(_ name: String, order: Int, _ signals: RunLoop.Signal...) throws -> RunLoop.SignalSource {
        let source = try RunLoop.SignalSource(Set(signals), order: order) { _, info in
          log.update { $0.append("\(name) \(info.signal)") }
        }
        try loop.add(source)
        return source
      }
      let last = try source("last", order: 5, .user1)
      _ = try source("first", order: 0, .user1, .user2)
      _ = try source("second", order: 0, .user2, .user1)
      Self.send(.user1)
      try loop.run(for: .zero)
      Self.send(.user2)
      for _ in 0..<8 { try loop.run(for: .zero) }
      check.equal(
        log.value, ["first SIGUSR1", "second SIGUSR1", "last SIGUSR1", "first SIGUSR2", "second SIGUSR2"])
      last.invalidate()
      Self.send(.user1)
      for _ in 0..<4 { try loop.run(for: .zero) }
      check.equal(log.value.suffix(2), ["first SIGUSR1", "second SIGUSR1"])
    }
  }

  /// Case 88: there is no winner.
  func test_RLK_SIGNAL_5_eachOfSeveralLoopsGetsIt() {
    inChild { check in
      try RunLoop.Signal.block(.user1)
      let (count, ready) = (Box(0), Gate())
      let threads = (0..<3).map { _ in
        TestThread {
          let loop = RunLoop.current
          let source = try! RunLoop.SignalSource(.user1) { _, _ in
            count.update { $0 += 1 }
            loop.stop()
          }
          try! loop.add(source)
          ready.open()
          _ = try! loop.run(for: .seconds(30))
        }
      }
      for _ in threads { ready.wait() }
      Self.send(.user1)
      for thread in threads { thread.join() }
      check.equal(count.value, 3)
    }
  }

  /// A signal that is read by one loop is told by the other later, when it runs a mode that holds its source.
  func test_RLK_SIGNAL_6_modesDecideWhenItIsTold() {
    inChild { check in
      let loop = RunLoop.current
      let log = Box<[String]>([])
      try loop.add(RunLoop.SignalSource(.user1) { _, _ in log.update { $0.append("a") } }, to: "a")
      try loop.add(RunLoop.SignalSource(.user1) { _, _ in log.update { $0.append("b") } }, to: "b")
      Self.send(.user1)
      for _ in 0..<3 { try loop.run(in: "a", for: .zero) }
      check.equal(log.value, ["a"])
      for _ in 0..<3 { try loop.run(in: "b", for: .zero) }
      check.equal(log.value, ["a", "b"])
    }
  }

  /// Case 89.
  func test_RLK_SIGNAL_7_theMaskIsRestoredWithTheLastSource() {
    inChild { check in
      check.that(!Self.isBlocked(.user1))
      var before = sigaction()
      sigaction(SIGUSR1, nil, &before)
      let first = try RunLoop.SignalSource(.user1) { _, _ in }
      let second = try RunLoop.SignalSource(.user1, .user2) { _, _ in }
      check.that(Self.isBlocked(.user1) && Self.isBlocked(.user2))
      first.invalidate()
      check.that(Self.isBlocked(.user1))
      second.invalidate()
      check.that(!Self.isBlocked(.user1) && !Self.isBlocked(.user2))
      var after = sigaction()
      sigaction(SIGUSR1, nil, &after)
      func handler(_ action: sigaction) -> Int { unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) }
      check.equal(handler(after), handler(before))
      // What was blocked before stays so.
      try RunLoop.Signal.block(.user1)
      var third: RunLoop.SignalSource? = try RunLoop.SignalSource(.user1, .hangup) { _, _ in }
      check.that(Self.isBlocked(.hangup))
      withExtendedLifetime(third) {}
      third = nil  // gone without being invalidated
      check.that(Self.isBlocked(.user1))
      check.that(!Self.isBlocked(.hangup))
      // So does what the program blocks after a source has done so.
      let fourth = try RunLoop.SignalSource(.user2, .hangup) { _, _ in }
      try RunLoop.Signal.block(.user2)
      fourth.invalidate()
      check.that(Self.isBlocked(.user2))
      check.that(!Self.isBlocked(.hangup))
    }
  }

  /// Case 89, the other half: the mask of a thread is changed by that thread alone.
  func test_RLK_SIGNAL_8_anotherThreadsMaskIsLeftAlone() {
    inChild { check in
      let source = Box<RunLoop.SignalSource?>(nil)
      let (made, gone) = (Gate(), Gate())
      let thread = TestThread {
        source.value = try? RunLoop.SignalSource(.user1) { _, _ in }
        made.open()
        gone.wait()
        check.that(Self.isBlocked(.user1), "the thread that made it")
      }
      made.wait()
      check.that(!Self.isBlocked(.user1), "this thread")
      source.value?.invalidate()
      gone.open()
      thread.join()
    }
  }

  /// Case 90.
  func test_RLK_SIGNAL_9_realtimeSignalsQueueWithTheirValues() {
    inChild { check in
      let loop = RunLoop.current
      let (low, high) = (RunLoop.Signal.realtime(1), RunLoop.Signal.realtime(2))
      let seen = Box<[String]>([])
      try loop.add(
        RunLoop.SignalSource(low, high) { _, info in
          seen.update { $0.append("\(info.signal.rawValue - low.rawValue):\(info.value)") }
          if info.code != -1 { seen.update { $0.append("code \(info.code)") } }
        })
      for value in 1...3 {
        _ = sigqueue(getpid(), high.rawValue, sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: value)))
      }
      for value in 4...5 {
        _ = sigqueue(getpid(), low.rawValue, sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: value)))
      }
      for _ in 0..<8 { try loop.run(for: .zero) }
      check.equal(seen.value, ["0:4", "0:5", "1:1", "1:2", "1:3"])
      check.that(low.isRealtime && !RunLoop.Signal.terminate.isRealtime)
    }
  }

  /// More than a look reads at once: none is lost, and a timer gets its turn meanwhile.
  func test_RLK_SIGNAL_10_aFloodIsToldInOrderAndLeavesOthersTheirTurns() throws {
    let pendingSignals = 11  // RLIMIT_SIGPENDING, which Swift does not see
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(UInt32(pendingSignals)), &limit)
    guard limit.rlim_cur >= 300 else { try skipCase("no 200 signals may be pending here") }
    inChild { check in
      let loop = RunLoop.current
      let seen = Box<[Int32]>([])
      try loop.add(RunLoop.SignalSource(.realtime(3)) { _, info in seen.update { $0.append(info.value) } })
      for value in 1...200 {
        _ = sigqueue(
          getpid(), RunLoop.Signal.realtime(3).rawValue,
          sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: value)))
      }
      let atTimer = Box(-1)
      try loop.add(
        RunLoop.Timer(fireDate: .now) { _ in atTimer.value = seen.value.count })
      try loop.add(
        RunLoop.Timer(fireDate: .now.advanced(by: .milliseconds(1)), interval: .milliseconds(1)) { _ in
          if seen.value.count == 200 { loop.stop() }
        })
      check.equal(try loop.run(for: .seconds(30)), .stopped)
      check.equal(seen.value, Array(1...200))
      check.that(atTimer.value < 3, "the timer waited for \(atTimer.value) signals")
    }
  }

  /// Case 91: the default action of SIGTERM would end the child.
  func test_RLK_SIGNAL_11_whatIsPendingWhenTheSourceEndsIsDropped() {
    inChild { check in
      let loop = RunLoop.current
      let count = Box(0)
      let source = try RunLoop.SignalSource(.terminate) { _, _ in count.value += 1 }
      try loop.add(source)
      Self.send(.terminate)
      source.invalidate()
      check.that(!Self.isBlocked(.terminate))
      check.equal(count.value, 0)
      // The next source is a new one.
      let next = try RunLoop.SignalSource(.terminate) { _, _ in count.value += 10 }
      try loop.add(next)
      try loop.run(for: .zero)
      check.equal(count.value, 0)
      Self.send(.terminate)
      try loop.run(for: .zero)
      check.equal(count.value, 10)
    }
  }

  /// Of two sources of one signal the one that ends in the other's callout is not called.
  func test_RLK_SIGNAL_12_aSourceEndsAnotherInItsCallout() {
    inChild { check in
      let loop = RunLoop.current
      let log = Box<[String]>([])
      let second = Box<RunLoop.SignalSource?>(nil)
      let first = try RunLoop.SignalSource(.user1) { source, _ in
        log.update { $0.append("first") }
        second.value?.invalidate()
        source.invalidate()
      }
      second.value = try RunLoop.SignalSource(.user1) { _, _ in log.update { $0.append("second") } }
      try loop.add(first)
      try loop.add(second.value!)
      try loop.add(RunLoop.Timer.never())
      Self.send(.user1)
      for _ in 0..<4 { try loop.run(for: .zero) }
      check.equal(log.value, ["first"])
    }
  }

  func test_RLK_SIGNAL_13_aNestedRunTellsTheNextOne() {
    inChild { check in
      let loop = RunLoop.current
      let (log, depth) = (Box<[Int]>([]), Box(0))
      try loop.add(
        RunLoop.SignalSource(.realtime(4)) { _, info in
          depth.value += 1
          if depth.value == 1 { _ = try? loop.run(for: .zero, returnAfterSourceHandled: true) }
          log.update { $0.append(Int(info.value)) }
          depth.value -= 1
        })
      for value in 1...2 {
        _ = sigqueue(
          getpid(), RunLoop.Signal.realtime(4).rawValue,
          sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: value)))
      }
      try loop.run(for: .zero)
      check.equal(log.value, [2, 1])
    }
  }

  /// Case 86: a handler that runs while the loop sleeps interrupts its wait, and no more.
  func test_RLK_SIGNAL_14_anInterruptedWaitGoesOn() {
    inChild { check in
      let loop = RunLoop.current
      var action = sigaction()
      action.__sigaction_handler.sa_handler = { _ in }
      sigaction(SIGALRM, &action, nil)
      var times = itimerval(
        it_interval: timeval(tv_sec: 0, tv_usec: 1000), it_value: timeval(tv_sec: 0, tv_usec: 1000))
      setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &times, nil)
      let passes = Box(0)
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in passes.value += 1 })
      let date = RunLoop.Instant.now.advanced(by: .milliseconds(50))
      let fired = Box<RunLoop.Instant?>(nil)
      try loop.add(
        RunLoop.Timer(fireDate: date) { _ in
          fired.value = .now
          loop.stop()
        })
      try loop.run(for: .seconds(30))
      check.that(fired.value.map { $0 >= date } ?? false, "fired early or never")
      check.that(passes.value <= 2, "\(passes.value) passes")
      times = itimerval()
      setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &times, nil)
    }
  }

  /// Case 86: stopped and continued, the loop goes on waiting.
  func test_RLK_SIGNAL_15_stoppedAndContinuedTheLoopGoesOn() {
    let pipe = Pipe()
    _ = fcntl(pipe.reading, F_SETFL, 0)
    let child = test_fork()
    if child == 0 {
      let loop = RunLoop.current
      let source = try! RunLoop.SignalSource(.continue) { _, _ in loop.stop() }
      try! loop.add(source)
      try! loop.add(RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in pipe.send("x") })
      _exit((try? loop.run(for: .seconds(30))) == .stopped ? 0 : 1)
    }
    var byte: UInt8 = 0
    XCTAssertEqual(read(pipe.reading, &byte, 1), 1)
    kill(child, SIGSTOP)
    var status: Int32 = 0
    XCTAssertEqual(waitpid(child, &status, WUNTRACED), child)
    kill(child, SIGCONT)
    while waitpid(child, &status, 0) < 0 {}
    XCTAssertEqual(status, 0)
    pipe.closeBoth()
  }

  func test_RLK_SIGNAL_16_whatIsNoSignalIsRefusedAndNothingIsBlocked() {
    inChild { check in
      func error(_ signals: Set<RunLoop.Signal>) -> Int32 {
        systemError { _ = try RunLoop.SignalSource(signals) { _, _ in } }
      }
      check.equal(error([]), EINVAL)
      check.equal(error([.kill, .user1]), EINVAL)
      check.equal(error([RunLoop.Signal(rawValue: SIGSTOP)]), EINVAL)
      check.equal(error([RunLoop.Signal(rawValue: 0)]), EINVAL)
      check.equal(error([RunLoop.Signal(rawValue: 65), .user1]), EINVAL)
      check.equal(error([RunLoop.Signal(rawValue: 32)]), EINVAL)  // the C library's own
      check.that(!Self.isBlocked(.user1))
      for signals in [[], [.kill, .user1], [RunLoop.Signal(rawValue: 0), .user1]] as [Set<RunLoop.Signal>] {
        check.equal(systemError { try RunLoop.Signal.block(signals) }, EINVAL)
      }
      check.that(!Self.isBlocked(.user1))
      try RunLoop.Signal.block([.user1, .user2])
      check.that(Self.isBlocked(.user1) && Self.isBlocked(.user2) && !Self.isBlocked(.hangup))
    }
  }

  /// Cases 15, 19 and 22: nothing is left of it, and nothing is inherited by other programs.
  func test_RLK_SIGNAL_17_noDescriptorIsLeftOrInherited() {
    inChild { check in
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      try loop.add(RunLoop.SignalSource(.user1) { _, _ in })
      let before = openDescriptors()
      for _ in 0..<1000 {
        let source = try RunLoop.SignalSource(.user2) { _, _ in }
        try loop.add(source)
        source.invalidate()
        _ = try RunLoop.SignalSource(.user2) { _, _ in }
      }
      check.equal(openDescriptors(), before)
      for descriptor in Int32(3)..<200 where fcntl(descriptor, F_GETFD) >= 0 {
        let source = try RunLoop.SignalSource(.user2) { _, _ in }
        check.that(fcntl(source.descriptor, F_GETFD) & FD_CLOEXEC != 0)
      }
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      limit.rlim_cur = rlim_t(before + 4)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      var refused = 0
      for extra in 0..<5 {
        let holders = (0..<extra).map { _ in EventCounter() }
        if systemError({ _ = try RunLoop.SignalSource(.hangup) { _, _ in } }) == EMFILE { refused += 1 }
        withExtendedLifetime(holders) {}
        check.that(!Self.isBlocked(.hangup))
      }
      check.that(refused > 0, "never refused")
      check.equal(openDescriptors(), before)
    }
  }

  /// A child of fork(2) has receivers of its own; the parent loses nothing.
  func test_RLK_SIGNAL_18_aForkedChildMakesItsOwn() {
    inChild { check in
      let loop = RunLoop.current
      let count = Box(0)
      let source = try RunLoop.SignalSource(.user1) { _, _ in count.value += 1 }
      try loop.add(source)
      let child = test_fork()
      if child == 0 {
        source.invalidate()
        let fresh = RunLoop.current
        let mine = try RunLoop.SignalSource(.user1) { _, _ in fresh.stop() }
        try fresh.add(mine)
        Self.send(.user1)
        _exit((try? fresh.run(for: .seconds(30))) == .stopped ? 0 : 1)
      }
      var status: Int32 = 0
      while waitpid(child, &status, 0) < 0 {}
      check.equal(status, 0)
      check.equal(count.value, 0)
      Self.send(.user1)
      try loop.run(for: .zero)
      check.equal(count.value, 1)
    }
  }
}
