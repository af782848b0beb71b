import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What goes wrong with descriptors: closed, duplicated, inherited, refused, too many. Cases of faults by number.
final class DescriptorFaultTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  typealias Source = RunLoop.FileDescriptorSource

  private func passes(_ loop: RunLoop, _ count: Int = 6) throws { for _ in 0..<count { try loop.run(for: .zero) } }

  /// It sleeps through two milliseconds.
  private func checkAsleep(_ loop: RunLoop, line: UInt = #line) {
    let cost = CountingKernel.count { _ = try? loop.run(for: .milliseconds(2)) }
    XCTAssertLessThanOrEqual(cost.waits, 3, line: line)
  }

  /// Cases 1 and 3: a duplicate keeps the description open, so that epoll goes on to tell of a number that is gone.
  func test_RLK_FD_19_closedWhileADuplicateStaysOpen() {
    onThread {
      let loop = RunLoop.current
      let (old, new, pipe) = (Box(0), Box(0), Pipe())
      try loop.add(RunLoop.Timer.never())
      let stale = try Source(fileDescriptor: pipe.reading, interest: .readable) { _, _ in old.value += 1 }
      try loop.add(stale)
      let duplicate = dup(pipe.reading)
      close(pipe.reading)
      let other = Pipe()
      XCTAssertEqual(other.reading, pipe.reading)
      let fresh = try Source(fileDescriptor: other.reading, interest: .readable) { _, _ in new.value += 1 }
      try loop.add(fresh)
      pipe.send("old")
      try self.passes(loop)
      XCTAssertEqual(old.value, 0)
      XCTAssertEqual(new.value, 0)
      self.checkAsleep(loop)
      other.send("new")
      try loop.run(for: .zero)
      XCTAssertEqual(new.value, 1)
      _ = other.receive()
      stale.invalidate()
      other.send("new")
      try loop.run(for: .zero)
      XCTAssertEqual(new.value, 2)
      _ = other.receive()
      self.checkAsleep(loop)
      fresh.invalidate()
      close(duplicate)
      close(pipe.writing)
      other.closeBoth()
    }
  }

  /// Case 4: a child process holds the description that the parent has closed.
  func test_RLK_FD_20_closedWhileAChildHasIt() {
    onThread {
      let loop = RunLoop.current
      let (calls, pipe, gate) = (Box(0), Pipe(), Pipe())
      try loop.add(RunLoop.Timer.never())
      let source = try Source(fileDescriptor: pipe.reading, interest: .readable) { _, _ in calls.value += 1 }
      try loop.add(source)
      let child = test_fork()
      if child == 0 {
        close(gate.writing)
        _ = fcntl(gate.reading, F_SETFL, 0)
        var byte: UInt8 = 0
        _ = read(gate.reading, &byte, 1)
        _exit(0)
      }
      close(pipe.reading)
      source.invalidate()  // too late
      pipe.send("x")
      try self.passes(loop)
      self.checkAsleep(loop)
      XCTAssertEqual(calls.value, 0)
      gate.closeBoth()
      XCTAssertEqual(waitpid(child, nil, 0), child)
      close(pipe.writing)
    }
  }

  /// A number that was closed before its source was added, and is the loop's own by then.
  func test_RLK_FD_21_theLoopsOwnNumbersAreRefused() {
    onThread {
      let loop = RunLoop.current
      let pipes = (0..<6).map { _ in Pipe() }
      let sources = try pipes.map { try Source(fileDescriptor: $0.reading, interest: .readable) { _, _ in } }
      for pipe in pipes { close(pipe.reading) }
      try loop.add(RunLoop.Timer(fireDate: .distantFuture) { _ in })
      let ordinary = Pipe()
      try loop.add(Source(fileDescriptor: ordinary.reading, interest: .readable) { _, _ in })
      for source in sources where ![ordinary.reading, ordinary.writing].contains(source.fileDescriptor) {
        let refusal = systemError { try loop.add(source) }
        XCTAssertTrue([EBADF, EINVAL, EEXIST].contains(refusal), "\(source.fileDescriptor): \(refusal)")
      }
      let asleep = Gate()
      try loop.add(RunLoop.Observer(.beforeWaiting, repeats: false) { _, _ in asleep.open() })
      let thread = TestThread {  // it hears of wakes as before
        asleep.wait()
        loop.stop()
      }
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
      thread.join()
      ordinary.closeBoth()
      for pipe in pipes { close(pipe.writing) }
    }
  }

  func test_RLK_FD_22_anEqualInterestCostsNothing() {
    onThread {
      let loop = RunLoop.current
      let (calls, pipe) = (Box(0), Pipe())
      let source = try Source(fileDescriptor: pipe.reading, interest: .readable) { _, _ in calls.value += 1 }
      try loop.add(source)
      try loop.add(source, to: "other")
      XCTAssertEqual(CountingKernel.count { source.interest = .readable }.controls, 0)
      XCTAssertEqual(CountingKernel.count { source.interest = [] }.controls, 2)
      XCTAssertEqual(CountingKernel.count { source.interest = .readable }.controls, 2)
      close(pipe.writing)
      try self.passes(loop)
      XCTAssertEqual(calls.value, 1)
      XCTAssertEqual(CountingKernel.count { source.interest = .readable }.controls, 1)  // it has rested in one mode
      try self.passes(loop)
      XCTAssertEqual(calls.value, 2)
      close(pipe.reading)
    }
  }

  /// Case 16, of a change: refused in one of two modes, it is taken on in none.
  func test_RLK_FD_23_aRefusedInterestIsNotTakenOn() {
    onThread {
      let loop = RunLoop.current
      let (seen, sockets) = (Box<[Source.Readiness]>([]), TriggerTests.Sockets())
      let source = try Source(fileDescriptor: sockets.ours, interest: .readable) { _, readiness in
        seen.update { $0.append(readiness) }
      }
      try loop.add(source)
      try loop.add(source, to: "other")
      for call in 1...2 {
        Faults.plan(call: call)
        XCTAssertEqual(systemError { try source.setInterest(.writable) }, ENOSPC)
        XCTAssertTrue(Faults.end())
        XCTAssertEqual(source.interest, .readable)
      }
      Faults.plan(call: 1)
      source.interest = [.readable, .writable]  // the setter has no answer
      XCTAssertTrue(Faults.end())
      XCTAssertEqual(source.interest, .readable)
      for mode in [.default, "other"] as [RunLoop.Mode] {
        try loop.run(in: mode, for: .zero)
        XCTAssertEqual(seen.value, [])
      }
      sockets.send("x")
      for mode in [.default, "other"] as [RunLoop.Mode] { try loop.run(in: mode, for: .zero) }
      XCTAssertEqual(seen.value, [.readable, .readable])
      try source.setInterest(.writable)
      try loop.run(in: "other", for: .zero)
      XCTAssertEqual(seen.value.last, .writable)
      closeAndHold(source.fileDescriptor)
      XCTAssertEqual(systemError { try source.setInterest(.readable) }, EBADF)
      XCTAssertEqual(source.interest, .writable)
      sockets.closeBoth()
    }
    inChild { check in
      let source = try Source(fileDescriptor: 0, interest: .readable) { _, _ in }
      let child = test_fork()
      if child == 0 { _exit(thrown { try source.setInterest(.writable) } == .forked ? 0 : 1) }
      var status: Int32 = 0
      while waitpid(child, &status, 0) < 0 {}
      check.equal(status, 0)
    }
  }

  /// Also a removal with an answer closes what is owned: before it answers, and after the callout.
  func test_RLK_FD_24_ownedItIsClosedByARemovalWithAnAnswer() {
    let pipes = (0..<3).map { _ in Pipe() }
    @Sendable func isOpen(_ descriptor: Int32) -> Bool { fcntl(descriptor, F_GETFD) >= 0 }
    func owner(_ pipe: Pipe, _ body: @escaping @Sendable (Source) -> Void = { _ in }) -> Source {
      try! Source(fileDescriptor: pipe.reading, interest: .readable, ownership: .closesWhenInvalidated) { source, _ in
        body(source)
      }
    }
    onThread {
      let (first, second) = (owner(pipes[0]), owner(pipes[1]))
      try RunLoop.current.add(first)
      try RunLoop.current.add(second)
      try first.invalidateAndWait()
      XCTAssertFalse(isOpen(pipes[0].reading))
      let told = Box(false)
      second.invalidate { told.value = !isOpen(pipes[1].reading) }
      XCTAssertTrue(told.value)
    }
    let (inside, left) = (Gate(), Gate())
    let third = owner(pipes[2]) { source in
      inside.open()
      left.wait()
      XCTAssertTrue(isOpen(source.fileDescriptor))
    }
    pipes[2].send("x")
    let thread = TestThread {
      _ = try? RunLoop.current.add(third)
      _ = try? RunLoop.current.run(for: .seconds(30))
    }
    inside.wait()
    XCTAssertEqual(thrown { try third.invalidateAndWait(timeout: .zero) }, .timedOut)
    XCTAssertTrue(isOpen(pipes[2].reading))
    left.open()
    XCTAssertNil(thrown { try third.invalidateAndWait() })
    XCTAssertFalse(isOpen(pipes[2].reading))
    thread.join()
    for pipe in pipes { close(pipe.writing) }
  }

  /// Cases 9 and 13, of several on one descriptor: each hears of the hang-up once, and is armed for itself.
  func test_RLK_FD_25_severalOnADescriptorThatHangsUp() {
    onThread {
      let loop = RunLoop.current
      let (log, sockets) = (Box<[String]>([]), TriggerTests.Sockets())
      func source(_ name: String, _ interest: Source.Readiness, _ trigger: Source.Trigger) throws -> Source {
        let source = try Source(fileDescriptor: sockets.ours, interest: interest, trigger: trigger) { _, readiness in
          log.update { $0.append("\(name) \(readiness)") }
        }
        try loop.add(source)
        return source
      }
      try loop.add(RunLoop.Timer.never())
      let shot = try source("shot", .readable, .oneShot)
      _ = try source("level", .readable, .level)
      _ = try source("nothing", [], .level)
      sockets.send("x")
      try self.passes(loop, 4)
      XCTAssertEqual(log.value, ["shot readable", "level readable", "level readable", "level readable"])
      var byte: UInt8 = 0
      XCTAssertEqual(read(sockets.ours, &byte, 1), 1)
      log.value = []
      shot.interest = .readable
      close(sockets.theirs)
      try self.passes(loop, 8)
      XCTAssertEqual(log.value.sorted(), ["level readable|hang-up", "nothing hang-up", "shot readable|hang-up"])
      self.checkAsleep(loop)
      log.value = []
      shot.interest = .readable
      try self.passes(loop, 4)
      XCTAssertEqual(log.value, ["shot readable|hang-up"])
      close(sockets.ours)
    }
  }

  /// Case 14: numbers beyond 1024, and more ready ones than one wait fetches; each is served once before any is twice.
  func test_RLK_FD_26_thousandsAreServedInTurn() throws {
    let wanted = 3000
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    guard limit.rlim_max >= rlim_t(wanted + 200) else { try skipCase("\(limit.rlim_max) descriptors are too few") }
    inChild { check in
      limit.rlim_cur = limit.rlim_max
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let loop = RunLoop.current
      let served = Box([Int](repeating: 0, count: wanted))
      let counters = (0..<wanted).map { _ in EventCounter() }
      check.that(counters.last!.descriptor > 1024)
      for (number, counter) in counters.enumerated() {
        counter.add()  // and nobody reads: always ready
        try loop.add(
          Source(fileDescriptor: counter.descriptor, interest: .readable) { _, _ in
            served.update { $0[number] += 1 }
          })
      }
      for round in 1...2 {
        try self.passes(loop, wanted)
        check.equal(Set(served.value), [round])
      }
      withExtendedLifetime(counters) {}
    }
  }

  /// Case 22: ten thousand sources of each kind leave nothing.
  func test_RLK_FD_27_noDescriptorIsLeft() {
    onThread {
      let loop = RunLoop.current
      let (pipe, null) = (Pipe(), open("/dev/null", O_RDWR | O_CLOEXEC))
      try loop.add(RunLoop.Timer.never())
      try loop.add(Source(fileDescriptor: pipe.reading, interest: .readable) { _, _ in })
      let before = openDescriptors()
      for round in 0..<10_000 {
        let limit = round % 2 == 0 ? nil : RunLoop.RateLimit(count: 1, per: .seconds(1))
        let owned = try Source(
          fileDescriptor: dup(pipe.reading), interest: .readable, ownership: .closesWhenInvalidated, limit: limit
        ) { _, _ in }
        try loop.add(owned)
        owned.invalidate()
        _ = try Source(fileDescriptor: dup(null), interest: [], ownership: .closesWhenInvalidated) { _, _ in }
        let port = try RunLoop.PortSource(fileDescriptor: pipe.reading, limit: limit) { _ in }
        try loop.add(port)
        loop.remove(port)
        if round % 10 == 0 {
          let file = try Source(fileDescriptor: null, interest: .readable, unpollable: .alwaysReady) { _, _ in }
          try loop.add(file)
          loop.remove(file)
        }
      }
      XCTAssertEqual(openDescriptors(), before)
      close(null)
      pipe.closeBoth()
    }
  }

  /// Case 19: whatever is made is close-on-exec, on the inside too.
  func test_RLK_FD_28_nothingIsInheritedByPrograms() {
    inChild { check in
      let before = Set((Int32(0)..<1024).filter { fcntl($0, F_GETFD) >= 0 })
      let loop = RunLoop.current
      let child = test_fork()
      if child == 0 { while true { pause() } }
      let (pipe, null) = (Pipe(), open("/dev/null", O_RDWR | O_CLOEXEC))
      try loop.add(RunLoop.Timer.never())
      try loop.add(RunLoop.Timer(fireDate: RunLoop.WallInstant.now.advanced(by: .seconds(1000))) { _ in })
      try loop.add(Source(fileDescriptor: null, interest: .readable, unpollable: .alwaysReady) { _, _ in })
      try loop.add(RunLoop.PortSource(fileDescriptor: pipe.reading) { _ in })
      try loop.add(RunLoop.SignalSource(.user1) { _, _ in })
      try loop.add(RunLoop.FileWatch(path: "/tmp", events: .created) { _, _ in })
      try loop.add(RunLoop.ChildSource(processID: child) { _, _ in })
      RunLoop.forbidProcessDescriptors(true)
      try loop.add(RunLoop.ChildSource(processID: child) { _, _ in })
      try loop.run(for: .zero)
      let made = (Int32(0)..<1024).filter { fcntl($0, F_GETFD) >= 0 && !before.contains($0) }
      check.that(made.count >= 14, "\(made)")
      for descriptor in made {
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        check.that(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0, "\(descriptor) \(link ?? "")")
      }
      kill(child, SIGKILL)
    }
  }
}
