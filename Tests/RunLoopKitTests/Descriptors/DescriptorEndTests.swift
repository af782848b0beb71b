import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Hang-ups and errors that pass: whatever begins again is reported again, once, and the source stays a member.
final class DescriptorEndTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  typealias Source = RunLoop.FileDescriptorSource

  /// A FIFO that is open for reading, and whose writers come and go.
  private final class Fifo: @unchecked Sendable {
    let path = "/tmp/runloopkit-end.\(getpid()).\(UInt32.random(in: 0...UInt32.max))"
    let reading: Int32

    init() {
      precondition(mkfifo(path, 0o600) == 0)
      reading = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
      precondition(reading >= 0)
    }

    func openWriter() -> Int32 { open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC) }

    func visit(_ text: String = "") {
      let writer = openWriter()
      precondition(writer >= 0)
      _ = text.withCString { write(writer, $0, strlen($0)) }
      close(writer)
    }

    func readByte() -> Bool {
      var byte: UInt8 = 0
      return read(reading, &byte, 1) == 1
    }

    func end() {
      close(reading)
      unlink(path)
    }
  }

  /// What a source was called with, and how many bytes it has read, one a callout.
  private struct Seen: Sendable {
    var calls: [Source.Readiness] = []
    var bytes = 0
    var ends: Int { calls.count { $0.contains(.hangup) && !$0.contains(.readable) } }
  }

  private func passes(_ loop: RunLoop, in mode: RunLoop.Mode = .default, _ count: Int = 30) throws {
    for _ in 0..<count { try loop.run(in: mode, for: .zero) }
  }

  private func source(
    _ fifo: Fifo, _ seen: Box<Seen>, interest: Source.Readiness = .readable, trigger: Source.Trigger = .level,
    limit: RunLoop.RateLimit? = nil, then: @escaping @Sendable (Source) -> Void = { _ in }
  ) throws -> Source {
    try Source(fileDescriptor: fifo.reading, interest: interest, trigger: trigger, limit: limit) { source, readiness in
      seen.update { $0.calls.append(readiness) }
      if readiness.contains(.readable), fifo.readByte() { seen.update { $0.bytes += 1 } }
      then(source)
    }
  }

  func test_RLK_FD_2_aFifoIsReadAgainAndAgain() {
    onThread {
      let (loop, fifo, seen) = (RunLoop.current, Fifo(), Box(Seen()))
      defer { fifo.end() }
      try loop.add(self.source(fifo, seen))
      for round in 1...3 {
        fifo.visit("abcdef")
        try self.passes(loop)
        XCTAssertEqual(seen.value.bytes, 6 * round)
        fifo.visit()
        try self.passes(loop)
        XCTAssertEqual(seen.value.ends, 2 * round)
        XCTAssertEqual(seen.value.calls.count, 8 * round)
      }
      let cost = CountingKernel.count { _ = try? loop.run(for: .milliseconds(2)) }
      XCTAssertLessThanOrEqual(cost.waits, 2)  // it sleeps while nobody writes
    }
  }

  func test_RLK_FD_2_alsoByEdges() {
    onThread {
      let (loop, fifo, seen) = (RunLoop.current, Fifo(), Box(Seen()))
      defer { fifo.end() }
      try loop.add(self.source(fifo, seen, trigger: .edge))
      for round in 1...3 {
        fifo.visit()
        try self.passes(loop)
        XCTAssertEqual(seen.value.ends, round)
        fifo.visit("a")
        try self.passes(loop)
        XCTAssertEqual(seen.value.bytes, round)
      }
    }
  }

  func test_RLK_FD_42_interestSetInItsCalloutDoesNotSpin() {
    let actions: [@Sendable (Source) -> Void] = [
      { $0.interest = .readable },
      {
        $0.interest = []
        $0.interest = .readable
      },
    ]
    for trigger in [Source.Trigger.level, .oneShot] {
      for action in actions {
        onThread {
          let (loop, fifo, seen) = (RunLoop.current, Fifo(), Box(Seen()))
          defer { fifo.end() }
          let source = try self.source(fifo, seen, trigger: trigger, then: action)
          try loop.add(source)
          for round in 1...3 {
            fifo.visit("abcdef")
            try self.passes(loop)
            XCTAssertEqual(seen.value.bytes, 6 * round)
            XCTAssertEqual(seen.value.ends, round)
          }
          source.interest = .readable  // outside of it: what is true is reported
          try self.passes(loop)
          XCTAssertEqual(seen.value.ends, 4)
        }
      }
    }
  }

  func test_RLK_FD_42_pausedInItsCalloutItIsToldLater() {
    onThread {
      let (loop, fifo, seen) = (RunLoop.current, Fifo(), Box(Seen()))
      defer { fifo.end() }
      let source = try self.source(fifo, seen) { if seen.value.calls.count == 1 { $0.interest = [] } }
      try loop.add(source)
      try loop.add(RunLoop.Timer.never())
      fifo.visit()
      try self.passes(loop)
      XCTAssertEqual(seen.value.calls, [.hangup])
      let writer = fifo.openWriter()
      _ = write(writer, "abc", 3)
      try self.passes(loop)
      let cost = CountingKernel.count { _ = try? loop.run(for: .milliseconds(2)) }
      XCTAssertLessThanOrEqual(cost.waits, 2)
      XCTAssertEqual(seen.value.calls.count, 1)
      source.interest = .readable
      try self.passes(loop)
      XCTAssertEqual(seen.value.bytes, 3)
      close(writer)
      try self.passes(loop)
      XCTAssertEqual(seen.value.ends, 2)
    }
  }

  func test_RLK_FD_43_allThatShareIt() {
    onThread {
      let (loop, fifo) = (RunLoop.current, Fifo())
      defer { fifo.end() }
      let seen = (0..<3).map { _ in Box(Seen()) }
      for (index, seen) in seen.enumerated() {
        try loop.add(self.source(fifo, seen, interest: index == 1 ? [] : .readable))
      }
      for round in 1...3 {
        fifo.visit()
        try self.passes(loop)
        XCTAssertEqual(seen.map(\.value.ends), [round, round, round])
      }
      fifo.visit("abcdef")
      try self.passes(loop)
      XCTAssertEqual(seen[0].value.bytes + seen[2].value.bytes, 6)
    }
  }

  func test_RLK_FD_43_inSeveralModes() {
    onThread {
      let (loop, fifo, seen) = (RunLoop.current, Fifo(), Box(Seen()))
      let other = RunLoop.Mode("other")
      defer { fifo.end() }
      let source = try self.source(fifo, seen)
      try loop.add(source)
      try loop.add(source, to: other)
      for round in 1...3 {
        fifo.visit("ab")
        try self.passes(loop, in: round == 2 ? other : .default)
        XCTAssertEqual(seen.value.bytes, 2 * round)
      }
      fifo.visit()
      let before = seen.value.ends
      try self.passes(loop, in: other)
      try self.passes(loop)
      XCTAssertEqual(seen.value.ends, before + 2)  // once in each
    }
  }

  func test_RLK_FD_43_aNestedRunLeavesItOut() {
    onThread {
      let (loop, fifo, seen) = (RunLoop.current, Fifo(), Box(Seen()))
      defer { fifo.end() }
      try loop.add(RunLoop.Timer.never())
      try loop.add(
        self.source(fifo, seen) { _ in
          if seen.value.calls.count == 1 { fifo.visit() }
          for _ in 0..<3 { _ = try? loop.run(for: .zero) }
        })
      fifo.visit()
      try self.passes(loop)
      XCTAssertEqual(seen.value.calls, [.hangup, .hangup])
      fifo.visit("abc")
      try self.passes(loop)
      XCTAssertEqual(seen.value.bytes, 3)
    }
  }

  func test_RLK_FD_43_inAHostsLoop() {
    onThread {
      let (loop, fifo, seen) = (RunLoop.current, Fifo(), Box(Seen()))
      defer { fifo.end() }
      try loop.add(self.source(fifo, seen))
      let descriptor = try loop.hostDescriptor().fileDescriptor
      func host() throws {
        for _ in 0..<30 {
          let hasWork = try loop.prepareToWait()
          var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
          if !hasWork && poll(&entry, 1, 0) == 0 { return }
          try loop.runPendingWork()
        }
        XCTFail("it does not get quiet")
      }
      for round in 1...3 {
        fifo.visit("abcdef")
        try host()
        XCTAssertEqual(seen.value.bytes, 6 * round)
        fifo.visit()
        try host()
        XCTAssertEqual(seen.value.ends, 2 * round)
      }
    }
  }

  /// Each refusal is an error of its own, also one that the callout causes.
  func test_RLK_FD_2_eachRefusedDatagram() {
    onThread {
      let (loop, told) = (RunLoop.current, Box(0))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let (closed, socket) = (
        Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0), Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
      )
      defer { close(socket) }
      withUnsafeMutablePointer(to: &address) { address in
        address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          precondition(bind(closed, address, size) == 0 && getsockname(closed, address, &size) == 0)
          close(closed)
          precondition(connect(socket, address, size) == 0)
        }
      }
      try loop.add(
        Source(fileDescriptor: socket, interest: .readable) { _, readiness in
          XCTAssertEqual(readiness, .error)
          told.value += 1
          var (error, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
          getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size)
          if told.value % 3 != 0 { XCTAssertEqual(send(socket, "x", 1, 0), 1) }
        })
      for round in 1...3 {
        XCTAssertEqual(send(socket, "x", 1, 0), 1)
        try self.passes(loop)
        XCTAssertEqual(told.value, 3 * round)
      }
    }
  }

  func test_RLK_PORT_5_aPortSourceIsCalledForTheNextWriter() {
    onThread {
      let (loop, fifo, calls) = (RunLoop.current, Fifo(), Box(0))
      defer { fifo.end() }
      try loop.add(RunLoop.PortSource(fileDescriptor: fifo.reading) { _ in calls.value += 1 })
      for round in 1...3 {
        fifo.visit("1234567812345678")
        try self.passes(loop)
        XCTAssertEqual(calls.value, 3 * round)  // two messages and an end
      }
    }
  }

  /// In a child, which can open no descriptor for a while.
  func test_RLK_FD_44_aHangupWithoutADescriptorIsReportedAtMostTwice() {
    inChild { check in
      let loop = RunLoop.current
      let (hangups, bytes, pipe) = (Box(0), Box(0), Pipe())
      try loop.add(RunLoop.Timer.never())
      let source = try Source(fileDescriptor: pipe.reading, interest: .readable) { _, readiness in
        if readiness.contains(.readable) { bytes.value += pipe.receive().count }
        if readiness == .hangup { hangups.value += 1 }
      }
      try loop.add(source)
      try loop.run(for: .zero)
      close(pipe.writing)  // its number is the first that is refused
      try withDescriptors(0) {
        for _ in 0..<8 { try loop.run(for: .zero) }
        check.that((1...2).contains(hangups.value), "\(hangups.value)")
        let cost = CountingKernel.count { _ = try? loop.run(for: .milliseconds(2)) }
        check.that(cost.waits <= 3, "\(cost.waits)")
        check.that((1...2).contains(hangups.value), "\(hangups.value)")
      }
      let writing = open("/proc/self/fd/\(pipe.reading)", O_WRONLY | O_CLOEXEC)
      check.equal(write(writing, "word", 4), 4)
      try loop.run(for: .zero)
      check.equal(bytes.value, 4)
    }
  }
}
