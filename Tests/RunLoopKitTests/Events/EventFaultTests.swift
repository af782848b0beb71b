import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Signals and children where runs nest, loops share, threads end and numbers come again. Cases of faults by number.
final class EventFaultTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  private static func isBlocked(_ signal: RunLoop.Signal) -> Bool {
    var mask = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &mask)
    return sigismember(&mask, signal.rawValue) == 1
  }

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

  private func bothWays(line: UInt = #line, _ body: (ChildChecks) throws -> Void) {
    inChild(line: line, body)
    inChild(line: line) { check in
      RunLoop.forbidProcessDescriptors(true)
      try body(check)
    }
  }

  // MARK: Signals

  /// A mode's turn serves the source that comes first by its order: removal with an answer asks for that one.
  func test_RLK_EVENT_1_theSourceThatIsCalledIsTheOneOnRecord() {
    for orders in [[0, 1], [1, 0]] {
      inChild { check in
        let loop = RunLoop.current
        let sources = Box<[RunLoop.SignalSource]>([])
        let calls = Box(0)
        for order in orders {
          sources.value.append(
            try RunLoop.SignalSource(.user1, order: order) { source, _ in
              calls.value += 1
              check.equal(
                thrown { try source.invalidateAndWait() }, .wouldDeadlock)
              if calls.value == 2 {
                for other in sources.value where other !== source {
                  check.equal(thrown { try other.invalidateAndWait() }, nil)
                }
              }
              let isOver = Box(false)
              if calls.value == 2 {
                source.invalidate { isOver.value = true }
                check.that(!isOver.value)
              }
            })
        }
        for source in sources.value { try loop.add(source) }
        try loop.add(RunLoop.Timer.never())
        kill(getpid(), SIGUSR1)
        for _ in 0..<4 { try loop.run(for: .zero) }
        check.equal(calls.value, 2)
      }
    }
  }

  /// Case 89: a thread that has the address of an older one, and inherits a mask, has claimed nothing.
  func test_RLK_EVENT_2_threadsThatComeAgainHaveClaimedNothing() {
    inChild { check in
      let source = Box<RunLoop.SignalSource?>(nil)
      let ids = Box<[pthread_t]>([])
      TestThread {
        ids.update { $0.append(pthread_self()) }
        source.value = try? RunLoop.SignalSource(.user1) { _, _ in }
        check.that(Self.isBlocked(.user1))
      }.join()
      check.that(!Self.isBlocked(.user1))
      try RunLoop.Signal.block(.user1)
      TestThread {
        ids.update { $0.append(pthread_self()) }
        source.value?.invalidate()
        check.that(Self.isBlocked(.user1), "the program had blocked it")
      }.join()
      check.equal(ids.value[0], ids.value[1])  // else this shows nothing
    }
  }

  /// Case 89: threads end their sources in another order than they made them; each mask is what it was.
  func test_RLK_EVENT_3_masksAreRestoredInAnyOrder() {
    inChild { check in
      let (first, second, turns) = (
        Box<RunLoop.SignalSource?>(nil), Box<RunLoop.SignalSource?>(nil), [Gate(), Gate(), Gate()]
      )
      let a = TestThread {
        first.value = try? RunLoop.SignalSource(.user1, .user2) { _, _ in }
        turns[0].open()
        turns[1].wait()
        first.value?.invalidate()  // the other thread's still wants .user1
        check.that(Self.isBlocked(.user1) && !Self.isBlocked(.user2))
        turns[2].open()
      }
      let b = TestThread {
        turns[0].wait()
        second.value = try? RunLoop.SignalSource(.user1) { _, _ in }
        turns[1].open()
        turns[2].wait()
        second.value?.invalidate()
        check.that(!Self.isBlocked(.user1))
      }
      a.join()
      b.join()
      check.that(!Self.isBlocked(.user1))
    }
  }

  /// A removal with an answer gives back what `invalidate()` does.
  func test_RLK_EVENT_4_aRemovalWithAnAnswerEndsAllOfIt() {
    inChild { check in
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      try loop.add(RunLoop.SignalSource(.hangup) { _, _ in })
      let child = Self.start {
        while true { pause() }
      }
      let before = openDescriptors()
      for isWaiting in [true, false] {
        let items: [RunLoop.Item] = [
          try RunLoop.SignalSource(.user1) { _, _ in },
          try RunLoop.FileWatch(path: "/tmp", events: .created) { _, _ in },
          try RunLoop.ChildSource(processID: child) { _, _ in },
        ]
        check.that(Self.isBlocked(.user1))
        for item in items {
          try loop.add(item)
          if isWaiting { try item.invalidateAndWait() } else { item.invalidate {} }
        }
        check.that(!Self.isBlocked(.user1))
        check.equal(openDescriptors(), before)
        withExtendedLifetime(items) {}
      }
      kill(child, SIGKILL)
    }
  }

  /// Case 91: the last source ends while signals wait, read and unread; a new one hears nothing of them.
  func test_RLK_EVENT_5_aWaitingQueueIsDroppedWithItsSource() {
    inChild { check in
      let loop = RunLoop.current
      let seen = Box<[Int32]>([])
      let signal = RunLoop.Signal.realtime(5)
      @Sendable func send(_ value: Int) {
        _ = sigqueue(getpid(), signal.rawValue, sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: value)))
      }
      let source = try RunLoop.SignalSource(signal) { source, info in
        seen.update { $0.append(info.value) }
        if info.value == 2 {
          send(4)
          source.invalidate()
        }
      }
      try loop.add(source)
      try loop.add(RunLoop.Timer.never())
      for value in 1...3 { send(value) }
      for _ in 0..<5 { try loop.run(for: .zero) }
      check.equal(seen.value, [1, 2])
      check.that(!Self.isBlocked(signal))
      try loop.add(RunLoop.SignalSource(signal) { _, info in seen.update { $0.append(info.value) } })
      send(5)
      for _ in 0..<3 { try loop.run(for: .zero) }
      check.equal(seen.value, [1, 2, 5])
    }
  }

  // MARK: Children

  /// A run inside its callout neither calls it again nor spins; nor does another loop.
  func test_RLK_EVENT_6_aChildsEndIsToldOnceAlsoToNestedRunsAndOtherLoops() {
    bothWays { check in
      let loop = RunLoop.current
      try RunLoop.Signal.block(.child)
      let (calls, asleep) = (Box(0), Box(CountingKernel.Counts()))
      let child = Self.start { 3 }
      let (inside, seen) = (Gate(), Gate())
      let source = try RunLoop.ChildSource(processID: child) { source, _ in
        calls.value += 1
        asleep.value = CountingKernel.count { _ = try? loop.run(for: .milliseconds(2)) }
        check.that(source.isValid)
        inside.open()
        seen.wait()
      }
      try loop.add(source)
      try loop.add(RunLoop.Timer.never())
      let thread = TestThread {
        inside.wait()
        let other = RunLoop.current
        _ = try? other.add(source)
        _ = try? other.add(RunLoop.Timer.never())
        for _ in 0..<3 { _ = try? other.run(for: .zero) }
        let cost = CountingKernel.count { _ = try? other.run(for: .milliseconds(2)) }
        check.that(cost.waits <= 3, "\(cost.waits) waits")
        seen.open()
      }
      check.equal(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      thread.join()
      check.equal(calls.value, 1)
      check.that(asleep.value.waits <= 4, "\(asleep.value.waits) waits")
      check.that(!source.isValid)
    }
  }

  /// Case 92: the number of a child that is gone is another's by now.
  func test_RLK_EVENT_7_aNumberThatComesAgainIsNotMistaken() throws {
    guard test_may_choose_process_ids() == 1 else { try skipCase("a process id cannot be chosen here") }
    inChild { check in
      let loop = RunLoop.current
      let seen = Box<[RunLoop.ExitStatus]>([])
      let gone = Self.start { 7 }
      let source = try RunLoop.ChildSource(processID: gone) { _, status in seen.update { $0.append(status) } }
      try loop.add(source)
      check.equal(waitpid(gone, nil, 0), gone)  // by other code
      let next = test_fork_as(gone)
      if next == 0 { while true { pause() } }
      check.equal(next, gone)
      check.equal(systemError { try source.send(.kill) }, ESRCH)
      check.equal(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      check.equal(seen.value, [.unknown])
      var status: Int32 = 0
      kill(next, SIGTERM)
      check.equal(waitpid(next, &status, 0), next)
      check.equal(status, SIGTERM)  // unharmed: SIGKILL, if it was on its way, would have come first
    }
  }

  /// Without pidfds: what other code has waited for is sent nothing, and the mask is given back.
  func test_RLK_EVENT_8_withoutDescriptors() {
    inChild { check in
      let child = Self.start { 0 }
      RunLoop.forbidProcessDescriptors(true)
      check.that(!Self.isBlocked(.child))
      let source = try RunLoop.ChildSource(processID: child) { _, _ in }
      check.that(Self.isBlocked(.child))
      check.equal(systemError { try source.send(RunLoop.Signal(rawValue: 0)) }, 0)
      check.equal(waitpid(child, nil, 0), child)
      check.equal(systemError { try source.send(.kill) }, ESRCH)
      source.invalidate()
      check.that(!Self.isBlocked(.child))
      check.equal(thrown { try source.send(.kill) }, .invalidItem)
    }
  }

  /// Case 93: a filter of a sandbox, with the errnos that such have.
  func test_RLK_EVENT_11_aFilterThatForbidsDescriptors() throws {
    let refusal = Pipe()
    for error in [EPERM, EACCES, ENOSYS, EOPNOTSUPP, EINVAL, ENOENT, ENODEV, EBUSY, EIO, EPROTO] {
      inChild { check in
        guard test_forbid_pidfds(error) == 1 else { return refusal.send("x") }
        try RunLoop.Signal.block(.child)
        // What fails is not remembered.
        check.equal(systemError { _ = try RunLoop.ChildSource(processID: getppid()) { _, _ in } }, ECHILD)
        let (loop, gate, seen) = (RunLoop.current, Pipe(), Box<[RunLoop.ExitStatus]>([]))
        let child = Self.startWaiting(gate, code: 8)
        let source = try RunLoop.ChildSource(processID: child) { _, status in seen.update { $0.append(status) } }
        try loop.add(source, to: "children")
        check.equal(try loop.run(in: "children", for: .zero), .timedOut)
        try source.send(RunLoop.Signal(rawValue: 0))
        gate.closeBoth()
        check.equal(try loop.run(in: "children", for: .seconds(30)), .finished)
        check.equal(seen.value, [.exited(code: 8)])
      }
    }
    for error in [EMFILE, ENFILE, ENOMEM] {
      inChild { check in
        guard test_forbid_pidfds(error) == 1 else { return refusal.send("x") }
        check.equal(systemError { _ = try RunLoop.ChildSource(processID: getppid()) { _, _ in } }, error)
      }
    }
    let isRefused = !refusal.receive().isEmpty
    refusal.closeBoth()
    if isRefused { try skipCase("no filter may be installed here") }
  }

  /// Case 94: a program that ignores SIGCHLD has no zombies, and nobody learns how a child has ended.
  func test_RLK_EVENT_12_childrenThatNobodyWaitsFor() {
    inChild { check in
      signal(SIGCHLD, SIG_IGN)
      let (loop, gate, seen) = (RunLoop.current, Pipe(), Box<[RunLoop.ExitStatus]>([]))
      let child = Self.startWaiting(gate, code: 8)
      let source = try RunLoop.ChildSource(processID: child) { _, status in seen.update { $0.append(status) } }
      try loop.add(source, to: "children")
      gate.closeBoth()
      check.equal(try loop.run(in: "children", for: .seconds(30)), .finished)
      check.equal(seen.value, [.unknown])
      check.equal(systemError { while true { _ = try RunLoop.ChildSource(processID: child) { _, _ in } } }, ESRCH)
    }
  }

  /// Without pidfds SIGCHLD is shared with a signal source: both hear of it, whichever reads it.
  func test_RLK_EVENT_13_aSignalSourceForChildrenBesideAChildSource() {
    bothWays { check in
      let (loop, log) = (RunLoop.current, Box<[String]>([]))
      let signals = try RunLoop.SignalSource(.child) { _, info in log.update { $0.append("signal \(info.processID)") } }
      let child = Self.start { 4 }
      let source = try RunLoop.ChildSource(processID: child) { _, status in log.update { $0.append("\(status)") } }
      try loop.add(signals)
      try loop.add(source)
      let tick = RunLoop.Timer(fireDate: .now, interval: .milliseconds(1)) { _ in
        if log.value.count == 2 { loop.stop() }
      }
      try loop.add(tick)
      check.equal(try loop.run(for: .seconds(30)), .stopped)
      check.equal(log.value.sorted(), ["exited with code 4", "signal \(child)"])
      check.that(Self.isBlocked(.child))
      signals.invalidate()
      check.that(!Self.isBlocked(.child))
    }
  }

  /// Each time, whichever of them reads the signal: here always the signal source, whose mode runs first.
  func test_RLK_EVENT_13_alsoAfterTheEndOfAnotherChild() {
    bothWays { check in
      try RunLoop.Signal.block(.child)
      let (loop, log, gate) = (RunLoop.current, Box<[String]>([]), Pipe())
      let signals = try RunLoop.SignalSource(.child) { _, info in log.update { $0.append("signal \(info.processID)") } }
      try loop.add(signals, to: "signals")
      let mine = Self.startWaiting(gate, code: 4)
      let source = try RunLoop.ChildSource(processID: mine) { _, status in log.update { $0.append("\(status)") } }
      try loop.add(source, to: "children")
      check.equal(try loop.run(in: "children", for: .zero), .timedOut)
      func serve(_ child: Int32) throws {
        var info = siginfo_t()
        check.equal(waitid(P_PID, id_t(child), &info, WEXITED | WNOWAIT), 0)
        check.equal(try loop.run(in: "signals", for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      }
      let others = (0..<2).map { _ in
        let other = Self.start { 1 }
        check.that(thrown { try serve(other) } == nil)
        check.that((try? loop.run(in: "children", for: .zero)) == .timedOut)
        return other
      }
      gate.closeBoth()
      try serve(mine)
      check.equal(try loop.run(in: "children", for: .seconds(30)), .finished)
      check.equal(log.value, (others + [mine]).map { "signal \($0)" } + ["exited with code 4"])
    }
  }

  /// What cannot be started leaves no child and no descriptor.
  func test_RLK_EVENT_9_aRefusedSpawnLeavesNothing() {
    inChild { check in
      let before = openDescriptors()
      func error(_ path: String, _ arguments: [String] = [], _ actions: [RunLoop.ChildSource.FileAction] = []) -> Int32
      {
        systemError { _ = try RunLoop.ChildSource.spawn(path, arguments: arguments, actions: actions) }
      }
      check.equal(error(""), ENOENT)
      check.equal(error("/tmp"), EACCES)
      check.equal(error("/bin/sh", [], [.duplicate(9999, as: 1)]), EBADF)
      check.equal(error("/bin/sh", [], [.duplicate(0, as: -1)]), EBADF)
      check.equal(error("/bin/sh", [], [.open(path: "/no/such/file", flags: O_RDONLY, as: 0)]), ENOENT)
      check.equal(error("/bin/sh", [], [.changeDirectory("/no/such/folder")]), ENOENT)
      check.equal(error("/bin/sh", [], [.changeDirectory("/\0")]), EINVAL)
      check.equal(error("/bin/sh", [String(repeating: "x", count: 1 << 18)]), E2BIG)
      check.equal(systemError { _ = try RunLoop.ChildSource.spawn("/bin/sh", environment: ["A=\0"]) }, EINVAL)
      check.equal(waitpid(-1, nil, WNOHANG), -1)
      check.equal(errno, ECHILD)
      check.equal(openDescriptors(), before)
    }
  }

  /// An equal number stays open for the program; the others' are closed.
  func test_RLK_EVENT_10_aSpawnedProgramGetsWhatItIsGiven() {
    inChild { check in
      let (pipe, output) = (Pipe(), Pipe())
      let child = try RunLoop.ChildSource.spawn(
        "sh", arguments: ["-c", "for fd in /proc/self/fd/*; do [ -p $fd ] && echo ${fd##*/}; done; true"],
        actions: [
          .duplicate(pipe.reading, as: pipe.reading), .duplicate(output.writing, as: 1),
          .open(path: "/dev/null", flags: O_RDWR, as: 0), .close(2),
        ])
      var status: Int32 = 0
      check.equal(waitpid(child, &status, 0), child)
      check.equal(status, 0)
      let open = Set(output.receive().split(separator: "\n").compactMap { Int32($0) })
      check.equal(open.intersection([1, pipe.reading, pipe.writing, output.reading]), [1, pipe.reading])
    }
  }
}
