import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Triggers, several sources with one descriptor, ownership, and what cannot be waited for. Cases of faults by number.
final class TriggerTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  typealias Source = RunLoop.FileDescriptorSource

  struct Sockets {
    let ours: Int32
    let theirs: Int32

    init() {
      var ends: [Int32] = [-1, -1]
      precondition(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
      for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
      (ours, theirs) = (ends[0], ends[1])
    }

    func send(_ text: String) { _ = text.withCString { write(theirs, $0, strlen($0)) } }

    func closeBoth() {
      close(ours)
      close(theirs)
    }
  }

  private func passes(_ loop: RunLoop, _ count: Int = 6) throws { for _ in 0..<count { try loop.run(for: .zero) } }

  /// Case 12: what comes while the handler runs, and while a nested run leaves it out, is told.
  func test_RLK_FD_6_edgeTriggeredNothingIsLost() {
    onThread {
      let loop = RunLoop.current
      let (calls, pipe) = (Box(0), Pipe())
      defer { pipe.closeBoth() }
      let source = try Source(fileDescriptor: pipe.reading, interest: .readable, trigger: .edge) { _, _ in
        calls.value += 1
        if calls.value == 2 {
          _ = pipe.receive()
          pipe.send("b")  // after the last read
        }
        if calls.value == 4 {
          _ = pipe.receive()
          _ = try? loop.run(for: .zero)
          pipe.send("d")
        }
      }
      try loop.add(source)
      try loop.add(RunLoop.Timer.never())
      pipe.send("a")
      try self.passes(loop)
      XCTAssertEqual(calls.value, 1)  // told once, though nothing was read
      pipe.send("a")
      try self.passes(loop)
      XCTAssertEqual(calls.value, 3)
      pipe.send("c")
      try self.passes(loop)
      XCTAssertEqual(calls.value, 5)
    }
  }

  /// Case 13.
  func test_RLK_FD_7_oneShotIsArmedByItsInterest() {
    onThread {
      let loop = RunLoop.current
      let (calls, pipe) = (Box(0), Pipe())
      defer { pipe.closeBoth() }
      let source = try Source(fileDescriptor: pipe.reading, interest: .readable, trigger: .oneShot) { source, _ in
        calls.value += 1
        if calls.value == 2 { source.interest = .readable }
      }
      try loop.add(source)
      pipe.send("x")
      try self.passes(loop)
      XCTAssertEqual(calls.value, 1)
      XCTAssertEqual(source.interest, .readable)
      source.interest = .readable
      try self.passes(loop)
      XCTAssertEqual(calls.value, 3)
      let cost = CountingKernel.count { _ = try? loop.run(for: .milliseconds(2)) }
      XCTAssertLessThanOrEqual(cost.waits, 2)  // it sleeps while it rests
    }
  }

  /// Case 5 (A16 is about port sources).
  func test_RLK_FD_8_severalSourcesOnOneDescriptorAreAllCalled() {
    onThread {
      let loop = RunLoop.current
      let (log, sockets) = (Box<[String]>([]), Sockets())
      defer { sockets.closeBoth() }
      func source(_ name: String, _ interest: Source.Readiness) throws -> Source {
        let source = try Source(fileDescriptor: sockets.ours, interest: interest) { _, readiness in
          log.update { $0.append("\(name) \(readiness)") }
        }
        try loop.add(source)
        return source
      }
      let reader = try source("reader", .readable)
      let writer = try source("writer", .writable)
      let both = try source("both", [.readable, .writable])
      sockets.send("x")
      try self.passes(loop, 3)
      XCTAssertEqual(log.value, ["reader readable", "writer writable", "both readable|writable"])
      log.value = []
      writer.interest = []
      both.invalidate()
      try self.passes(loop, 2)
      XCTAssertEqual(Set(log.value), ["reader readable"])
      log.value = []
      writer.interest = .writable
      reader.invalidate()
      try self.passes(loop, 2)
      XCTAssertEqual(Set(log.value), ["writer writable"])
      writer.invalidate()
      XCTAssertEqual(try loop.run(for: .zero), .finished)
    }
  }

  /// Case 62: the first of two takes the second away.
  func test_RLK_FD_9_oneOfSeveralTakesAnotherAway() {
    onThread {
      let loop = RunLoop.current
      let (log, sockets, second) = (Box<[Int]>([]), Sockets(), Box<Source?>(nil))
      defer { sockets.closeBoth() }
      try loop.add(
        Source(fileDescriptor: sockets.ours, interest: .readable) { _, _ in
          log.update { $0.append(1) }
          second.value?.invalidate()
        })
      second.value = try Source(fileDescriptor: sockets.ours, interest: .readable) { _, _ in
        log.update { $0.append(2) }
      }
      try loop.add(second.value!)
      sockets.send("x")
      try self.passes(loop, 4)
      XCTAssertFalse(log.value.contains(2))
      XCTAssertGreaterThanOrEqual(log.value.count, 3)
    }
  }

  /// Case 11: level and edge.
  func test_RLK_FD_10_aPeerThatStopsWritingIsToldOnce() {
    for trigger in [Source.Trigger.level, .edge, .oneShot] {
      onThread {
        let loop = RunLoop.current
        let (seen, sockets) = (Box<[Source.Readiness]>([]), Sockets())
        defer { sockets.closeBoth() }
        try loop.add(
          Source(fileDescriptor: sockets.ours, interest: .readable, trigger: trigger) { _, readiness in
            seen.update { $0.append(readiness) }
          })
        shutdown(sockets.theirs, Int32(SHUT_WR))
        try self.passes(loop)
        XCTAssertEqual(seen.value, [[.readable, .hangup]])
      }
    }
  }

  /// Cases 9 and 10.
  func test_RLK_FD_11_hangUpsAndErrorsAreToldWithoutInterest() {
    onThread {
      let loop = RunLoop.current
      let (seen, first, second) = (Box<[Source.Readiness]>([]), Pipe(), Pipe())
      try loop.add(RunLoop.Timer.never())
      try loop.add(
        Source(fileDescriptor: first.reading, interest: []) { _, readiness in seen.update { $0.append(readiness) } })
      close(first.writing)
      try self.passes(loop)
      XCTAssertEqual(seen.value, [.hangup])
      try loop.add(
        Source(fileDescriptor: second.writing, interest: .writable) { _, readiness in
          seen.update { $0.append(readiness) }
        })
      close(second.reading)
      try self.passes(loop)
      XCTAssertEqual(seen.value.count, 2)
      XCTAssertTrue(seen.value.last?.contains(.error) ?? false)
      close(first.reading)
      close(second.writing)
    }
  }

  /// Cases 6, 8, 20 and 21.
  func test_RLK_FD_12_whatCannotBeWaitedForIsRefused() {
    onThread {
      let loop = RunLoop.current
      func refusal(_ descriptor: Int32, _ unpollable: Source.Unpollable = .refuse) -> Int32 {
        systemError {
          try loop.add(Source(fileDescriptor: descriptor, interest: .readable, unpollable: unpollable) { _, _ in })
        }
      }
      let null = open("/dev/null", O_RDWR | O_CLOEXEC)
      let folder = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      let before = openDescriptors()
      XCTAssertEqual(refusal(null), EPERM)
      XCTAssertEqual(refusal(folder), EPERM)
      XCTAssertEqual(refusal(folder, .alwaysReady), EISDIR)
      XCTAssertEqual(refusal(-1), EBADF)
      XCTAssertEqual(refusal(-1, .alwaysReady), EBADF)
      XCTAssertEqual(refusal(9999), EBADF)
      XCTAssertLessThanOrEqual(openDescriptors(), before + 2)  // the mode's own
      XCTAssertTrue(loop.isEmpty(in: .default))
      close(null)
      close(folder)
    }
    inChild { check in  // 0 is a number like any other
      let pipe = Pipe()
      dup2(pipe.reading, 0)
      let calls = Box(0)
      try RunLoop.current.add(Source(fileDescriptor: 0, interest: .readable) { _, _ in calls.value += 1 })
      pipe.send("x")
      try RunLoop.current.run(for: .zero)
      check.equal(calls.value, 1)
    }
  }

  /// Cases 6 and 56: always ready, in turn with the others.
  func test_RLK_FD_13_alwaysReadyTakesTurns() {
    onThread {
      let loop = RunLoop.current
      let log = Box<[String]>([])
      let (null, pipe) = (open("/dev/null", O_RDWR | O_CLOEXEC), Pipe())
      defer {
        close(null)
        pipe.closeBoth()
      }
      let file = try Source(
        fileDescriptor: null, interest: [.readable, .writable], unpollable: .alwaysReady
      ) { source, readiness in
        XCTAssertEqual(readiness, [.readable, .writable])
        XCTAssertEqual(source.fileDescriptor, null)
        log.update { $0.append("file") }
      }
      try loop.add(file)
      try loop.add(
        Source(fileDescriptor: pipe.reading, interest: .readable) { _, _ in log.update { $0.append("pipe") } })
      pipe.send("x")
      try self.passes(loop, 10)
      XCTAssertEqual(log.value.filter { $0 == "file" }.count, 5)
      XCTAssertEqual(log.value.filter { $0 == "pipe" }.count, 5)
      log.value = []
      try loop.add(RunLoop.Timer(fireDate: .now) { _ in log.update { $0.append("timer") } })
      try self.passes(loop, 4)
      XCTAssertTrue(log.value.contains("timer"))
      file.interest = []
      log.value = []
      _ = pipe.receive()
      let cost = CountingKernel.count { _ = try? loop.run(for: .milliseconds(2)) }
      XCTAssertEqual(log.value, [])
      XCTAssertLessThanOrEqual(cost.waits, 2)
      // A descriptor that can be waited for is.
      let ordinary = try Source(fileDescriptor: pipe.reading, interest: .readable, unpollable: .alwaysReady) { _, _ in
        log.update { $0.append("ordinary") }
      }
      try loop.add(ordinary)
      try self.passes(loop)
      XCTAssertEqual(log.value, [])
    }
  }

  // MARK: Ownership

  func test_RLK_FD_14_anInitialiserThatThrowsClosesNothing() {
    let folder = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    XCTAssertEqual(
      systemError {
        _ = try Source(
          fileDescriptor: folder, interest: .readable, ownership: .closesWhenInvalidated, unpollable: .alwaysReady
        ) { _, _ in }
      }, EISDIR)
    XCTAssertTrue(isOpen(folder))
    close(folder)
  }

  func test_RLK_FD_14_anOwnedDescriptorIsClosedAfterItsCallout() {
    onThread {
      let loop = RunLoop.current
      let pipe = Pipe()
      defer { close(pipe.writing) }
      let source = try Source(
        fileDescriptor: pipe.reading, interest: .readable, ownership: .closesWhenInvalidated
      ) { source, _ in
        source.invalidate()
        XCTAssertTrue(isOpen(source.fileDescriptor))
        XCTAssertFalse(loop.contains(source))
      }
      try loop.add(source)
      try loop.add(source, to: "other")
      try loop.add(RunLoop.Timer.never())
      pipe.send("x")
      try loop.run(for: .zero)
      XCTAssertFalse(isOpen(pipe.reading))
      let next = dup(pipe.writing)  // gets the number: it is not closed a second time
      source.invalidate()
      withExtendedLifetime(source) {}
      XCTAssertTrue(isOpen(next))
      close(next)
    }
  }

  func test_RLK_FD_15_ownedAndOutsideACalloutItIsClosedAtOnce() {
    onThread {
      let loop = RunLoop.current
      let (first, second, third) = (Pipe(), Pipe(), Pipe())
      defer { for pipe in [first, second, third] { close(pipe.writing) } }
      func owner(_ pipe: Pipe) throws -> Source {
        try Source(fileDescriptor: pipe.reading, interest: .readable, ownership: .closesWhenInvalidated) { _, _ in }
      }
      let member = try owner(first)
      try loop.add(member)
      loop.remove(member)
      XCTAssertTrue(isOpen(first.reading))  // valid: it may be added again
      try loop.add(member)
      member.invalidate()
      XCTAssertFalse(isOpen(first.reading))
      var stranger: Source? = try owner(second)
      withExtendedLifetime(stranger) {}
      stranger = nil  // gone without ever having been a member
      XCTAssertFalse(isOpen(second.reading))
      XCTAssertThrowsError(
        try Source(fileDescriptor: -1, interest: .readable, ownership: .closesWhenInvalidated) { _, _ in })
      XCTAssertTrue(isOpen(third.reading))
      close(third.reading)
    }
  }

  func test_RLK_FD_16_ownedItIsClosedAtTheEndOfItsLoop() {
    let pipe = Pipe()
    onThread {
      try RunLoop.current.add(
        Source(fileDescriptor: pipe.reading, interest: .readable, ownership: .closesWhenInvalidated) { _, _ in })
    }
    XCTAssertFalse(isOpen(pipe.reading))
    close(pipe.writing)
  }

  /// Another thread invalidates while the callout runs: closed when that has returned.
  func test_RLK_FD_17_invalidatedByAnotherThreadItStaysOpenForTheCallout() {
    let pipe = Pipe()
    let (inside, gone) = (Gate(), Gate())
    let source = try! Source(
      fileDescriptor: pipe.reading, interest: .readable, ownership: .closesWhenInvalidated
    ) { source, _ in
      inside.open()
      gone.wait()
      XCTAssertFalse(source.isValid)
      XCTAssertTrue(isOpen(source.fileDescriptor))
    }
    pipe.send("x")
    let thread = TestThread {
      _ = try? RunLoop.current.add(source)
      _ = try? RunLoop.current.run(for: .seconds(30))
    }
    inside.wait()
    source.invalidate()
    gone.open()
    thread.join()
    XCTAssertFalse(isOpen(pipe.reading))
    close(pipe.writing)
  }

  /// Case 7: an epoll descriptor inside the loop's.
  func test_RLK_FD_18_aDescriptorSetInsideASet() {
    onThread {
      let loop = RunLoop.current
      let calls = Box(0)
      let watch = try RunLoop.SignalSource(.realtime(9)) { _, _ in }  // its descriptor is an epoll set
      defer { watch.invalidate() }
      try loop.add(
        Source(fileDescriptor: watch.descriptor, interest: .readable, trigger: .oneShot) { _, _ in
          calls.value += 1
        })
      pthread_kill(pthread_self(), RunLoop.Signal.realtime(9).rawValue)
      try self.passes(loop)
      XCTAssertEqual(calls.value, 1)
    }
  }
}

private func isOpen(_ descriptor: Int32) -> Bool { fcntl(descriptor, F_GETFD) >= 0 }
