import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// The end of processes, by pidfd and, forced, without. Numbers in names: the cases of faults that are meant.
final class ChildTests: XCTestCase {
  private static func start(_ body: () -> Int32) -> Int32 {
    let child = test_fork()
    if child == 0 { _exit(body()) }
    return child
  }

  /// A child that ends when the gate is closed or written to.
  private static func startWaiting(_ gate: Pipe, code: Int32) -> Int32 {
    start {
      close(gate.writing)
      _ = fcntl(gate.reading, F_SETFL, 0)
      var byte: UInt8 = 0
      _ = read(gate.reading, &byte, 1)
      return code
    }
  }

  /// Both ways; the second needs SIGCHLD blocked in all threads, hence a process with one.
  private func bothWays(line: UInt = #line, _ body: (ChildChecks) throws -> Void) {
    inChild(line: line, body)
    inChild(line: line) { check in
      RunLoop.forbidProcessDescriptors(true)
      try body(check)
    }
  }

  func test_RLK_CHILD_1_itsEndIsToldOnce() {
    bothWays { check in
      let loop = RunLoop.current
      let (seen, gate) = (Box<[RunLoop.ExitStatus]>([]), Pipe())
      let child = Self.startWaiting(gate, code: 7)
      let source = try RunLoop.ChildSource(processID: child) { source, status in
        check.that(source.isValid)
        seen.update { $0.append(status) }
      }
      try loop.add(source)
      try loop.add(RunLoop.Timer.never())
      for _ in 0..<3 { try loop.run(for: .zero) }
      check.equal(seen.value, [])
      check.equal(source.exitStatus, nil)
      gate.closeBoth()
      check.equal(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      check.equal(seen.value, [.exited(code: 7)])
      check.equal(source.exitStatus, .exited(code: 7))
      check.that(!source.isValid)
      check.that(!loop.contains(source))
      check.equal(waitpid(child, nil, WNOHANG), -1)  // no zombie is left
      check.equal(try loop.run(for: .zero), .timedOut)
      check.equal(seen.value.count, 1)
    }
  }

  func test_RLK_CHILD_2_howItEnded() {
    bothWays { check in
      let loop = RunLoop.current
      let seen = Box<[RunLoop.ExitStatus]>([])
      for signal in [SIGKILL, SIGTERM] {
        let gate = Pipe()
        let child = Self.startWaiting(gate, code: 0)
        let source = try RunLoop.ChildSource(processID: child) { _, status in seen.update { $0.append(status) } }
        try loop.add(source)
        try source.send(RunLoop.Signal(rawValue: signal))
        try loop.run(for: .seconds(30), returnAfterSourceHandled: true)
        gate.closeBoth()
      }
      check.equal(
        seen.value, [.signalled(.kill, coreDumped: false), .signalled(.terminate, coreDumped: false)])
      check.that(RunLoop.ExitStatus.exited(code: 0).isSuccess && !seen.value[0].isSuccess)
    }
  }

  /// Case 92.
  func test_RLK_CHILD_3_oneThatEndedBeforeIsToldAsWell() {
    bothWays { check in
      let loop = RunLoop.current
      let child = Self.start { 3 }
      var info = siginfo_t()
      check.equal(waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT), 0)  // it has ended, and is not taken
      let seen = Box<[RunLoop.ExitStatus]>([])
      try loop.add(RunLoop.ChildSource(processID: child) { _, status in seen.update { $0.append(status) } })
      check.equal(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      check.equal(seen.value, [.exited(code: 3)])
    }
  }

  /// By invalidation, and when the source is gone; also of one that was never added.
  func test_RLK_CHILD_30_aChildEndsWithItsSource() {
    bothWays { check in
      let loop = RunLoop.current
      for isInvalidated in [true, false] {
        let gate = Pipe()
        let child = Self.startWaiting(gate, code: 0)
        let told = Box(0)
        var source: RunLoop.ChildSource? = try RunLoop.ChildSource(
          processID: child, ownership: .killedWhenInvalidated
        ) { _, _ in told.value += 1 }
        if isInvalidated {
          try loop.add(source!)
          source!.invalidate()
          source!.invalidate()
          check.equal(source!.exitStatus, .signalled(.kill, coreDumped: false))
        }
        source = nil
        check.equal(kill(child, 0), -1)
        check.equal(waitpid(child, nil, WNOHANG), -1)  // no zombie is left
        check.equal(told.value, 0)
        gate.closeBoth()
      }
    }
  }

  func test_RLK_CHILD_31_aBorrowedOneLivesOn_oneThatEndedIsTold() {
    bothWays { check in
      let loop = RunLoop.current
      let gate = Pipe()
      let child = Self.startWaiting(gate, code: 5)
      let borrowed = try RunLoop.ChildSource(processID: child) { _, _ in }
      borrowed.invalidate()
      check.equal(kill(child, 0), 0)
      let seen = Box<[RunLoop.ExitStatus]>([])
      let owned = try RunLoop.ChildSource(processID: child, ownership: .killedWhenInvalidated) { _, status in
        seen.update { $0.append(status) }
      }
      try loop.add(owned)
      gate.closeBoth()
      check.equal(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      check.equal(seen.value, [.exited(code: 5)])
      check.that(!owned.isValid)
    }
  }

  /// Another source for the child is told how it has ended.
  func test_RLK_CHILD_32_othersAreTold() {
    bothWays { check in
      let loop = RunLoop.current
      let gate = Pipe()
      let child = Self.startWaiting(gate, code: 0)
      let seen = Box<[RunLoop.ExitStatus]>([])
      try loop.add(RunLoop.ChildSource(processID: child) { _, status in seen.update { $0.append(status) } })
      let owned = try RunLoop.ChildSource(processID: child, ownership: .killedWhenInvalidated) { _, _ in }
      owned.invalidate()
      check.equal(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      check.equal(seen.value, [.signalled(.kill, coreDumped: false)])
      gate.closeBoth()
    }
  }

  /// In a child of fork(2) that inherited the source it is dead, and kills nobody: what would be killed by the end of it
  /// goes on, and ends by itself.
  func test_RLK_CHILD_33_notByAChildOfFork() {
    inChild { check in
      let gate = Pipe()
      let child = Self.startWaiting(gate, code: 5)
      var owned: RunLoop.ChildSource? = try RunLoop.ChildSource(processID: child, ownership: .killedWhenInvalidated) {
        _, _ in
      }
      let other = Self.start {
        guard thrown({ try owned!.send(.kill) }) == .forked else { return 1 }
        owned!.invalidate()
        owned = nil
        return 0
      }
      var status: Int32 = -1
      check.equal(waitpid(other, &status, 0), other)
      check.equal(status, 0)
      gate.closeBoth()
      check.equal(waitpid(child, &status, 0), child)
      check.equal(status, 5 << 8)  // a signal that was on its way would have come first
      owned = nil
    }
  }

  /// Case 92: a thousand at once; none is lost although SIGCHLD is not counted.
  func test_RLK_CHILD_4_aThousandChildren() {
    bothWays { check in
      let loop = RunLoop.current
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      limit.rlim_cur = limit.rlim_max
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let (count, wrong) = (isSlow ? 200 : 1000, Box(0))  // to fork a sanitizer's memory takes long
      let left = Box(count)
      let descriptors = openDescriptors()
      for number in 0..<count {
        let code = Int32(number % 256)
        let source = try RunLoop.ChildSource(processID: Self.start { code }) { _, status in
          if status != .exited(code: code) { wrong.value += 1 }
          left.value -= 1
          if left.value == 0 { loop.stop() }
        }
        try loop.add(source)
      }
      let result = try loop.run(for: .seconds(300))
      check.that(result == .stopped || result == .finished, "\(result), \(left.value) left")
      check.equal(left.value, 0)
      check.equal(wrong.value, 0)
      check.equal(waitpid(-1, nil, WNOHANG), -1)
      check.that(openDescriptors() <= descriptors + 4, "\(openDescriptors()) descriptors, \(descriptors) before")
    }
  }

  /// Case 94.
  func test_RLK_CHILD_5_onesThatOthersHaveWaitedForAreToldAsUnknown() {
    bothWays { check in
      let loop = RunLoop.current
      let gate = Pipe()
      let child = Self.startWaiting(gate, code: 9)
      let seen = Box<[RunLoop.ExitStatus]>([])
      let source = try RunLoop.ChildSource(processID: child) { _, status in seen.update { $0.append(status) } }
      try loop.add(source)
      gate.closeBoth()
      check.equal(waitpid(-1, nil, 0), child)
      check.equal(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      check.equal(seen.value, [.unknown])
      var sent = true
      do { try source.send(.terminate) } catch { sent = false }
      check.that(!sent)
    }
  }

  /// Other children are left to whoever waits for them.
  func test_RLK_CHILD_6_otherChildrenAreNotTouched() {
    bothWays { check in
      let loop = RunLoop.current
      let (mine, other) = (Self.start { 1 }, Self.start { 2 })
      let seen = Box<[RunLoop.ExitStatus]>([])
      try loop.add(RunLoop.ChildSource(processID: mine) { _, status in seen.update { $0.append(status) } })
      try loop.run(for: .seconds(30), returnAfterSourceHandled: true)
      check.equal(seen.value, [.exited(code: 1)])
      var status: Int32 = 0
      check.equal(waitpid(other, &status, 0), other)
      check.equal(status, 2 << 8)
    }
  }

  func test_RLK_CHILD_7_eachOfSeveralSourcesGetsTheStatus() {
    bothWays { check in
      let loop = RunLoop.current
      let gate = Pipe()
      let child = Self.startWaiting(gate, code: 4)
      let seen = Box<[RunLoop.ExitStatus]>([])
      for mode in ["a", "b", "a"] as [RunLoop.Mode] {
        try loop.add(
          RunLoop.ChildSource(processID: child) { _, status in seen.update { $0.append(status) } }, to: mode)
      }
      gate.closeBoth()
      try loop.run(in: "a", for: .seconds(30))
      check.equal(seen.value.count, 2)
      try loop.run(in: "b", for: .seconds(30))
      check.equal(seen.value, [.exited(code: 4), .exited(code: 4), .exited(code: 4)])
    }
  }

  /// An invalidated source leaves the child, and its exit, to the caller.
  func test_RLK_CHILD_8_invalidatedItTakesNothing() {
    bothWays { check in
      let loop = RunLoop.current
      let gate = Pipe()
      let child = Self.startWaiting(gate, code: 5)
      let source = try RunLoop.ChildSource(processID: child) { _, _ in check.that(false, "called") }
      try loop.add(source)
      try loop.add(RunLoop.Timer.never())
      source.invalidate()
      gate.closeBoth()
      var status: Int32 = 0
      check.equal(waitpid(child, &status, 0), child)
      check.equal(status, 5 << 8)
      try loop.run(for: .zero)
    }
  }

  func test_RLK_CHILD_9_whatIsNoProcessIsRefused() {
    bothWays { check in
      func error(_ processID: Int32) -> Int32 {
        systemError { _ = try RunLoop.ChildSource(processID: processID) { _, _ in } }
      }
      let before = openDescriptors()
      let child = Self.start { 0 }
      check.equal(waitpid(child, nil, 0), child)
      check.that([ESRCH, ECHILD].contains(error(child)), "gone: \(error(child))")
      check.equal(error(-1), EINVAL)
      check.equal(error(0), EINVAL)
      check.equal(openDescriptors(), before)
    }
  }

  /// By pidfd only: a process that is no child of ours.
  func test_RLK_CHILD_10_aGrandchildsEndIsUnknown() {
    inChild { check in
      let loop = RunLoop.current
      let (gate, number) = (Pipe(), Pipe())
      let child = Self.start {
        let grandchild = Self.startWaiting(gate, code: 6)
        var value = grandchild
        _ = write(number.writing, &value, 4)
        return 0
      }
      check.equal(waitpid(child, nil, 0), child)
      var grandchild: Int32 = 0
      check.equal(read(number.reading, &grandchild, 4), 4)
      let seen = Box<[RunLoop.ExitStatus]>([])
      try loop.add(RunLoop.ChildSource(processID: grandchild) { _, status in seen.update { $0.append(status) } })
      gate.closeBoth()
      check.equal(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      check.equal(seen.value, [.unknown])
    }
  }

  /// Case 22.
  func test_RLK_CHILD_11_noDescriptorIsLeft() {
    bothWays { check in
      let loop = RunLoop.current
      let gate = Pipe()
      let child = Self.startWaiting(gate, code: 0)
      try loop.add(RunLoop.ChildSource(processID: child) { _, _ in }, to: "other")
      try loop.add(RunLoop.Timer.never())
      let warm = try RunLoop.ChildSource(processID: child) { _, _ in }
      try loop.add(warm)
      check.that(fcntl(warm.descriptor, F_GETFD) & FD_CLOEXEC != 0)  // case 19
      warm.invalidate()
      let before = openDescriptors()
      for _ in 0..<1000 {
        let source = try RunLoop.ChildSource(processID: child) { _, _ in }
        try loop.add(source)
        source.invalidate()
        _ = try RunLoop.ChildSource(processID: child) { _, _ in }
      }
      check.equal(openDescriptors(), before)
      gate.closeBoth()
    }
  }

  /// Asked of the program itself: a shell in between would unblock its signals.
  func test_RLK_CHILD_12_aSpawnedProgramHasACleanMask() {
    inChild { check in
      try RunLoop.Signal.block(.terminate, .user1)
      signal(SIGHUP, SIG_IGN)
      let output = Pipe()
      let child = try RunLoop.ChildSource.spawn(
        "grep", arguments: ["-E", "^Sig(Blk|Ign)", "/proc/self/status"], actions: [.duplicate(output.writing, as: 1)])
      var status: Int32 = 0
      check.equal(waitpid(child, &status, 0), child)
      check.equal(status, 0)
      let lines = output.receive().split(separator: "\n").map(String.init)
      // The C library ignores its own two, 32 and 33.
      let masks = lines.map { UInt64($0.suffix(16), radix: 16).map { $0 & ~(3 << 31) } }
      check.equal(masks, [0, 0])
    }
  }

  func test_RLK_EVENT_10_aSpawnedProgramHasItsEnvironmentAndItsFiles() {
    inChild { check in
      let loop = RunLoop.current
      let output = Pipe()
      let child = try RunLoop.ChildSource.spawn(
        "/bin/sh", arguments: ["-c", "echo $WORD; pwd; exit 5"],
        environment: ["WORD=hello", "PATH=/usr/bin:/bin"],
        actions: [.changeDirectory("/"), .duplicate(output.writing, as: 1), .close(0)])
      close(output.writing)
      let seen = Box<[RunLoop.ExitStatus]>([])
      try loop.add(RunLoop.ChildSource(processID: child) { _, status in seen.update { $0.append(status) } })
      try loop.run(for: .seconds(30), returnAfterSourceHandled: true)
      check.equal(seen.value, [.exited(code: 5)])
      let lines = output.receive().split(separator: "\n").map(String.init)
      check.equal(lines, ["hello", "/"])
      check.equal(systemError { _ = try RunLoop.ChildSource.spawn("/no/such/program") }, ENOENT)
      check.equal(systemError { _ = try RunLoop.ChildSource.spawn("/bin/sh", arguments: ["a\0b"]) }, EINVAL)
    }
  }
}
