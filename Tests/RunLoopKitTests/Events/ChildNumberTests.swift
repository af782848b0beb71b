import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Numbers of children that other code has waited for, and that the kernel has given to later children. Case 92.
final class ChildNumberTests: XCTestCase {
  /// A child that waits until the gate is closed, and ends with the code.
  private static func start(_ gate: Pipe, code: Int32, as number: Int32? = nil) -> Int32 {
    let child = number.map { test_fork_as($0) } ?? test_fork()
    if child != 0 { return child }
    close(gate.writing)
    _ = fcntl(gate.reading, F_SETFL, 0)
    var byte: UInt8 = 0
    _ = read(gate.reading, &byte, 1)
    _exit(code)
  }

  /// Since when a process runs comes in hundredths of a second: the next one begins in another.
  private static func waitForTheNextTick() {
    func tick() -> Int {
      var now = timespec()
      clock_gettime(CLOCK_BOOTTIME, &now)
      return now.tv_sec * 100 + now.tv_nsec / 10_000_000
    }
    let begin = tick()
    while tick() < begin + 2 { sched_yield() }
  }

  /// A source, in the mode "old", for a child that other code has waited for, and another child with its number.
  private func withANumberThatCameAgain(
    forbids: Bool, line: UInt = #line,
    _ body: (ChildChecks, RunLoop.ChildSource, Int32, Pipe, Box<[RunLoop.ExitStatus]>) throws -> Void
  ) throws {
    guard test_may_choose_process_ids() == 1 else { try skipCase("a process id cannot be chosen here") }
    inChild(line: line) { check in
      try RunLoop.Signal.block(.child)
      RunLoop.forbidProcessDescriptors(forbids)
      let (first, second, seen) = (Pipe(), Pipe(), Box<[RunLoop.ExitStatus]>([]))
      let gone = Self.start(first, code: 7)
      let source = try RunLoop.ChildSource(processID: gone) { _, status in seen.update { $0.append(status) } }
      try RunLoop.current.add(source, to: "old")
      first.closeBoth()
      check.equal(waitpid(gone, nil, 0), gone)
      Self.waitForTheNextTick()
      let next = Self.start(second, code: 5, as: gone)
      check.equal(next, gone)
      try body(check, source, next, second, seen)
      kill(next, SIGKILL)
    }
  }

  /// It has ended, and nobody has waited for it: its number is its own still.
  func test_RLK_CHILD_15_sourcesOfOneProcessAreToldTogether_alsoOfOneThatEndedBefore() {
    for forbids in [false, true] {
      inChild { check in
        try RunLoop.Signal.block(.child)
        RunLoop.forbidProcessDescriptors(forbids)
        let (loop, gate, seen) = (RunLoop.current, Pipe(), Box<[RunLoop.ExitStatus]>([]))
        let child = Self.start(gate, code: 3)
        for mode in ["before", "after"] as [RunLoop.Mode] {
          try loop.add(
            RunLoop.ChildSource(processID: child) { _, status in seen.update { $0.append(status) } }, to: mode)
          if mode == "before" { gate.closeBoth() }
          var info = siginfo_t()
          check.equal(waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT), 0)
        }
        check.equal(try loop.run(in: "after", for: .seconds(30)), .finished)
        check.equal(try loop.run(in: "before", for: .seconds(30)), .finished)
        check.equal(seen.value, [.exited(code: 3), .exited(code: 3)])
      }
    }
  }

  /// Both have sources: each is told of its own child.
  func test_RLK_CHILD_13_anOldSourceIsNotToldOfALaterChildOfItsNumber() throws {
    for forbids in [false, true] {
      try withANumberThatCameAgain(forbids: forbids) { check, old, number, gate, seen in
        let (loop, later) = (RunLoop.current, Box<[RunLoop.ExitStatus]>([]))
        for mode in ["new", "newer"] as [RunLoop.Mode] {
          try loop.add(
            RunLoop.ChildSource(processID: number) { _, status in later.update { $0.append(status) } }, to: mode)
        }
        gate.closeBoth()
        check.equal(try loop.run(in: "new", for: .seconds(30)), .finished)
        check.equal(later.value, [.exited(code: 5)])
        check.equal(old.exitStatus, nil)
        check.equal(try loop.run(in: "old", for: .seconds(30)), .finished)
        check.equal(seen.value, [.unknown])
        check.equal(try loop.run(in: "newer", for: .seconds(30)), .finished)
        check.equal(later.value, [.exited(code: 5), .exited(code: 5)])
      }
    }
  }

  /// The old one alone: it takes nothing from the later child, and sends it nothing.
  func test_RLK_CHILD_14_anOldSourceLeavesALaterChildOfItsNumberAlone() throws {
    for forbids in [false, true] {
      try withANumberThatCameAgain(forbids: forbids) { check, old, number, gate, seen in
        check.equal(systemError { try old.send(.kill) }, ESRCH)
        gate.closeBoth()
        var info = siginfo_t()
        check.equal(waitid(P_PID, id_t(number), &info, WEXITED | WNOWAIT), 0)
        check.equal(try RunLoop.current.run(in: "old", for: .seconds(30)), .finished)
        check.equal(seen.value, [.unknown])
        var status: Int32 = 0
        check.equal(waitpid(number, &status, 0), number)
        check.equal(status, 5 << 8)
      }
    }
  }
}
