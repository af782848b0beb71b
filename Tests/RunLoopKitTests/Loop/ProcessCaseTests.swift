import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// fork, exec, freezing, and kernels that lack something.
final class ProcessCaseTests: XCTestCase {
  /// Other threads hold and release the loop's lock all the time; a child that was forked meanwhile gets its errors and its
  /// own loop, and hangs nowhere.
  ///
  /// In nothing of ours: the Swift runtime has locks of its own, for what it looks up the first time. So everything that
  /// either side does has been done once before the first fork.
  func test_RLK_FORK_6_forksWhileOtherThreadsHoldTheLock() throws {
    guard test_may_have_threads_after_fork() == 1 else { try skipCase("here the runtime holds its locks for longer") }
    let ended = Box<RunLoop?>(nil)
    onThread {
      ended.value = .current
      XCTAssertNil(Self.mistake(.current))
    }
    onThread { _ = Self.mistakeInChild(of: ended.value!, RunLoop.Timer.never()) }
    onThread {
      let (loop, isOver, warm) = (RunLoop.current, Box(false), Gate())
      let kept = RunLoop.Timer.never()
      try loop.add(kept)
      let editors = (0..<3).map { number in
        TestThread {
          let timer = RunLoop.Timer.never()
          var rounds = 0
          while !isOver.value {
            rounds += 1
            if rounds == 100 { warm.open() }
            switch number {
            case 0:
              _ = try? loop.add(timer)
              loop.remove(timer)
            case 1: _ = try? loop.perform {}
            default: _ = loop.modes
            }
          }
        }
      }
      for _ in editors { warm.wait() }
      for _ in 0..<30 {
        inChild { check in
          if let mistake = Self.mistakeInChild(of: loop, kept) { check.fail(mistake, line: #line) }
        }
      }
      isOver.value = true
      for thread in editors { thread.join() }
      XCTAssertTrue(kept.isValid && loop.contains(kept))
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
    }
  }

  /// What is wrong with the parent's loop and item, or with one's own; nil: nothing.
  private static func mistakeInChild(of loop: RunLoop, _ kept: RunLoop.Item) -> String? {
    let errors = [thrown { try loop.perform {} }, thrown { try loop.add(kept) }]
    let isAlive = !loop.modes.isEmpty || kept.isValid
    loop.stop()
    kept.invalidate()
    let own = RunLoop.current
    let mistake = own === loop ? "the parent's loop" : mistake(own)
    return errors != [.forked, .forked] ? "\(errors)" : isAlive ? "the parent's are alive" : mistake
  }

  private static func mistake(_ own: RunLoop) -> String? {
    guard (try? own.add(RunLoop.Timer(fireDate: .now) { _ in own.stop() })) == true else { return "own add" }
    return (try? own.run(for: .seconds(30))) == .stopped ? nil : "own run"
  }

  /// All that a loop with one of everything has opened is closed by exec(3).
  func test_RLK_FD_28_noDescriptorOutlivesAnExec() throws {
    func open() -> Set<Int32> { Set((0..<4096).filter { fcntl($0, F_GETFD) >= 0 }) }
    let pipe = Pipe()
    let counter = EventCounter()
    onThread {
      let before = open()
      let loop = RunLoop.current
      let items: [RunLoop.Item] = [
        RunLoop.Timer.never(), RunLoop.Timer(fireDate: RunLoop.WallInstant.distantFuture) { _ in },
        RunLoop.Timer(fireDate: RunLoop.ContinuousInstant.distantFuture) { _ in }, RunLoop.Source { _ in },
        try PortSourceFactory.make(counter) {},
        try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, _ in },
        try RunLoop.FileWatch(path: "/", events: .changes) { _, _ in },
      ]
      for mode: RunLoop.Mode in [.default, "second"] {
        for item in items { try loop.add(item, to: mode) }
        try loop.run(in: mode, for: .zero)
      }
      let made = open().subtracting(before)
      // A wakeup port, two sets with three timer ports each, a watch.
      XCTAssertGreaterThanOrEqual(made.count, 1 + 2 * 4 + 1)
      for descriptor in made { XCTAssertNotEqual(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0, "\(descriptor)") }
      for item in items { item.invalidate() }
    }
    pipe.closeBoth()
  }

  /// The classical daemon: two forks and a session of its own, after the main loop was used.
  func test_RLK_FORK_7_aDaemonIsMadeAfterTheMainLoopWasUsed() {
    inChild { check in
      let main = RunLoop.main
      let stale = RunLoop.Timer.never()
      try main.add(stale)
      check.equal(try main.run(for: .zero), .timedOut)
      let child = test_fork()
      if child == 0 {
        setsid()
        let daemon = test_fork()
        if daemon != 0 { _exit(Self.status(of: daemon)) }
        let loop = RunLoop.main
        let ticks = Box(0)
        let isAdded = try? loop.add(
          RunLoop.Timer(fireDate: .now, interval: .milliseconds(1)) { _ in
            ticks.value += 1
            if ticks.value == 5 { loop.stop() }
          })
        let result = try? loop.run(for: .seconds(30))
        let isFresh = loop !== main && loop.isCurrent && !stale.isValid && thrown { try main.perform {} } == .forked
        _exit(isAdded == true && result == .stopped && isFresh ? 0 : 1)
      }
      check.equal(Self.status(of: child), 0)
      // The parent has lost nothing.
      check.that(main.contains(stale))
      check.equal(try main.run(for: .zero), .timedOut)
    }
  }

  private static func status(of child: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 {}
    return status & 0x7f == 0 ? status >> 8 & 0xff : 128
  }

  /// A kernel, or a container, without epoll_pwait2(2), pidfds and membarrier(2): the filter answers ENOSYS.
  func test_RLK_KERNEL_10_withoutNewSystemCalls() throws {
    guard test_may_have_threads_after_fork() == 1 else { try skipCase("no thread may be made after fork here") }
    guard test_forbid_new_calls(1) == 1 else { try skipCase("no system call filter may be set here") }
    inChild { check in
      check.equal(test_forbid_new_calls(0), 1)
      try RunLoop.Signal.block(.child)
      let (loop, log) = (RunLoop.current, Box<Set<String>>([]))
      @Sendable func note(_ name: String) {
        let isAll = log.update {
          $0.insert(name)
          return $0.count == 4
        }
        if isAll { loop.stop() }
      }
      let date = RunLoop.Instant.now.advanced(by: .milliseconds(2))
      try loop.add(
        RunLoop.Timer(fireDate: date) { _ in
          check.that(RunLoop.Instant.now >= date)
          note("timer")
        })
      let counter = EventCounter()
      try loop.add(PortSourceFactory.make(counter) { note("port") })
      let child = test_fork()
      if child == 0 { _exit(3) }
      try loop.add(
        RunLoop.ChildSource(processID: child) { _, status in
          check.equal(status, .exited(code: 3))
          note("child")
        })
      let other = TestThread {
        counter.add()
        try? loop.perform { note("block") }
      }
      check.equal(try loop.run(for: .seconds(30)), .stopped)
      other.join()
      let limit = RunLoop.Instant.now.advanced(by: .microseconds(1500))
      try loop.add(RunLoop.Timer.never())
      check.equal(try loop.run(until: limit), .timedOut)
      check.that(RunLoop.Instant.now >= limit)
      // A removal that waits for a callout on another thread has to have all threads pass.
      let (begun, mayEnd) = (Gate(), Gate())
      let ended = Box(false)
      let source = RunLoop.Source { _ in
        begun.open()
        mayEnd.wait()
        ended.value = true
      }
      let owner = TestThread {
        _ = try? RunLoop.current.add(source)
        source.signal()
        _ = try? RunLoop.current.run(for: .zero)
      }
      begun.wait()
      let opener = TestThread { mayEnd.open() }
      try source.invalidateAndWait()
      check.that(ended.value)
      owner.join()
      opener.join()
    }
  }

  /// A group of processes is frozen and thawed while a loop sleeps in it: it goes on, and its dates are late, once.
  func test_RLK_SIGNAL_15_frozenAndThawed() throws {
    guard let freezer = Freezer() else { try skipCase("no control group may be made here") }
    defer { freezer.remove() }
    let (started, goOn) = (Pipe(), Pipe())
    let child = test_fork()
    if child == 0 {
      alarm(60)
      _exit(Self.ticks(started, goOn) ? 0 : 1)
    }
    XCTAssertTrue(freezer.take(child))
    var entry = pollfd(fd: started.reading, events: Int16(POLLIN), revents: 0)
    XCTAssertEqual(poll(&entry, 1, 30_000), 1)
    XCTAssertTrue(freezer.set(frozen: true))
    goOn.send("x")
    XCTAssertTrue(freezer.set(frozen: false))
    XCTAssertEqual(Self.status(of: child), 0)
    started.closeBoth()
    goOn.closeBoth()
  }

  private static func ticks(_ started: Pipe, _ goOn: Pipe) -> Bool {
    let (loop, ticks) = (RunLoop.current, Box(0))
    let mayStop = Box(false)
    let source = try? RunLoop.FileDescriptorSource(fileDescriptor: goOn.reading, interest: .readable) { source, _ in
      mayStop.value = true
      source.invalidate()
    }
    guard let source, (try? loop.add(source)) == true else { return false }
    let phase = RunLoop.Instant.now.advanced(by: .milliseconds(2))
    _ = try? loop.add(
      RunLoop.Timer(fireDate: phase, interval: .milliseconds(2)) { timer in
        ticks.value += 1
        if ticks.value == 3 { started.send("x") }
        // Its phase is kept, whatever was missed.
        let offset = phase.duration(to: timer.fireDate!) / .milliseconds(2)
        if offset != offset.rounded(.down) { _exit(2) }
        if mayStop.value && ticks.value > 6 { loop.stop() }
      })
    return (try? loop.run(for: .seconds(30))) == .stopped
  }
}

/// A control group of one process that can be frozen; of either version.
private struct Freezer {
  private let folder: String
  private let isUnified: Bool

  init?() {
    for (root, isUnified) in [
      ("/sys/fs/cgroup/freezer", false), ("/sys/fs/cgroup", true), ("/sys/fs/cgroup/unified", true),
    ] {
      let folder = "\(root)/runloopkit-\(getpid())"
      let file = folder + (isUnified ? "/cgroup.freeze" : "/freezer.state")
      guard mkdir(folder, 0o755) == 0 else { continue }
      if access(file, W_OK) == 0 {
        self.folder = folder
        self.isUnified = isUnified
        return
      }
      rmdir(folder)
    }
    return nil
  }

  func remove() { rmdir(folder) }

  func take(_ process: pid_t) -> Bool { write("\(process)", to: "/cgroup.procs") }

  /// Returns when it is so.
  func set(frozen: Bool) -> Bool {
    if isUnified {
      guard write(frozen ? "1" : "0", to: "/cgroup.freeze") else { return false }
      return waitFor("/cgroup.events") { $0.contains("frozen \(frozen ? 1 : 0)") }
    }
    guard write(frozen ? "FROZEN" : "THAWED", to: "/freezer.state") else { return false }
    return waitFor("/freezer.state") { $0.hasPrefix(frozen ? "FROZEN" : "THAWED") }
  }

  private func waitFor(_ file: String, _ isSo: (String) -> Bool) -> Bool {
    for _ in 0..<1_000_000 {
      if let text = try? String(contentsOfFile: folder + file, encoding: .utf8), isSo(text) { return true }
      sched_yield()
    }
    return false
  }

  private func write(_ text: String, to file: String) -> Bool {
    let descriptor = open(folder + file, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return text.withCString { Glibc.write(descriptor, $0, strlen($0)) } > 0
  }
}
