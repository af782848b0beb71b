import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit
import Synchronization
import XCTest

import class RunLoopKit.RunLoop

/// Descriptors that their sources own: what one look at the kernel has found is trusted until each is called.
final class OwnedReadinessTests: XCTestCase {
  override class func setUp() { CountingKernel.install() }

  typealias Source = RunLoop.FileDescriptorSource

  /// Pipes with a byte each, and what their sources have been told and have read: the index, and the text.
  private final class Pipes {
    let all: [Pipe]
    let log = Box<[String]>([])
    private(set) var sources: [Source] = []

    /// - Parameter body: Called before the source reads.
    init(
      _ count: Int, _ ownership: Source.Ownership = .closesWhenInvalidated, _ body: @escaping (Int) -> Void = { _ in }
    ) throws {
      all = (0..<count).map { _ in Pipe() }
      for index in 0..<count {
        let (pipe, log) = (all[index], log)
        nonisolated(unsafe) let body = body
        sources.append(
          try Source(fileDescriptor: pipe.reading, interest: .readable, ownership: ownership) { _, _ in
            body(index)
            log.value.append("\(index)\(pipe.receive())")
          })
      }
    }

    func add(to loop: RunLoop, _ mode: RunLoop.Mode = .default) throws {
      for source in sources { try loop.add(source, to: mode) }
    }

    func send(_ text: String) { for pipe in all { pipe.send(text) } }

    /// A first event of each, from whose end on nothing about it is new.
    func settle(_ loop: RunLoop) throws {
      send("s")
      for _ in 0..<2 * all.count { try loop.run(for: .zero) }
      log.value = []
    }

    func end() {
      for source in sources { source.invalidate() }
      for pipe in all { close(pipe.writing) }
    }
  }

  /// How often the loops look at single descriptors meanwhile.
  private func polls(_ body: () throws -> Void) rethrows -> Int {
    let before = CountingKernel.polls.load(ordering: .relaxed)
    try body()
    return CountingKernel.polls.load(ordering: .relaxed) - before
  }

  func test_RLK_FD_38_ownedABatchIsTrusted() {
    onThread {
      let loop = RunLoop.current
      let pipes = try Pipes(5)
      defer { pipes.end() }
      try pipes.add(to: loop)
      try pipes.settle(loop)
      pipes.send("x")
      let asked = try self.polls { for _ in 0..<5 { try loop.run(for: .zero) } }
      XCTAssertEqual(asked, 0)
      XCTAssertEqual(pipes.log.value, ["0x", "1x", "2x", "3x", "4x"])
      let again = try self.polls { for _ in 0..<5 { try loop.run(for: .zero) } }
      XCTAssertEqual(again, 0)
      XCTAssertEqual(pipes.log.value.count, 5)
    }
  }

  func test_RLK_FD_38_borrowedEachIsAskedAgain() {
    onThread {
      let loop = RunLoop.current
      let target = Box<Int32>(-1)
      let pipes = try Pipes(3, .borrowed) { index in
        var byte: UInt8 = 0
        if index == 0 { _ = read(target.value, &byte, 1) }
      }
      defer { pipes.end() }
      target.value = pipes.all[1].reading
      try pipes.add(to: loop)
      pipes.send("x")
      let asked = try self.polls { for _ in 0..<3 { try loop.run(for: .zero) } }
      XCTAssertGreaterThanOrEqual(asked, 2)
      XCTAssertEqual(pipes.log.value, ["0x", "2x"])
      for pipe in pipes.all { close(pipe.reading) }
    }
  }

  /// Another callout reads an owned descriptor, against the promise: a call with nothing to read, and none is lost.
  func test_RLK_FD_39_anotherReaderCostsACallAndLosesNone() {
    onThread {
      let loop = RunLoop.current
      let target = Box<Int32>(-1)
      let pipes = try Pipes(3) { index in
        var byte: UInt8 = 0
        if index == 0, target.value >= 0 { _ = read(target.value, &byte, 1) }
      }
      defer { pipes.end() }
      try pipes.add(to: loop)
      try pipes.settle(loop)
      target.value = pipes.all[1].reading
      pipes.send("x")
      for _ in 0..<4 { try loop.run(for: .zero) }
      XCTAssertEqual(pipes.log.value, ["0x", "1", "2x"])
      target.value = -1
      pipes.all[1].send("y")
      for _ in 0..<2 { try loop.run(for: .zero) }
      XCTAssertEqual(pipes.log.value, ["0x", "1", "2x", "1y"])
    }
  }

  /// Removed, invalidated or of another interest since the look: no call, whoever trusts what.
  func test_RLK_FD_38_whoHasLeftIsNotCalled() {
    onThread {
      let loop = RunLoop.current
      let change = Box<() -> Void>({})
      let pipes = try Pipes(4) { index in if index == 0 { change.value() } }
      defer { pipes.end() }
      try pipes.add(to: loop)
      try pipes.settle(loop)
      nonisolated(unsafe) let all = pipes
      let number = pipes.all[1].reading
      let other = Box<Pipe?>(nil)
      change.value = {
        all.sources[1].invalidate()
        other.value = Pipe()  // most likely with its number
        all.sources[2].interest = []
        loop.remove(all.sources[3])
      }
      pipes.send("x")
      for _ in 0..<4 { try loop.run(for: .zero) }
      XCTAssertEqual(pipes.log.value, ["0x"])
      XCTAssertEqual(other.value?.reading, number)
      change.value = {}
      pipes.sources[2].interest = .readable
      try loop.add(pipes.sources[3])
      for _ in 0..<3 { try loop.run(for: .zero) }
      XCTAssertEqual(pipes.log.value.dropFirst().sorted(), ["2x", "3x"])
      other.value?.closeBoth()
    }
  }

  /// In two modes: a nested run in one of them serves what the other has fetched.
  func test_RLK_FD_40_inSeveralModesEachIsAskedAgain() {
    for isCommon in [false, true] {
      onThread {
        let loop = RunLoop.current
        let nested = Box(false)
        let pipes = try Pipes(2) { index in
          guard index == 0, nested.value else { return }
          nested.value = false
          _ = try? loop.run(in: "other", for: .zero)
        }
        defer { pipes.end() }
        try loop.add(RunLoop.Timer.never(), to: "other")
        try loop.add(pipes.sources[0])
        if isCommon {
          try loop.add(pipes.sources[1], to: .common)
          try pipes.settle(loop)
          loop.addCommonMode("other")
        } else {
          try loop.add(pipes.sources[1])
          try pipes.settle(loop)
          try loop.add(pipes.sources[1], to: "other")
        }
        nested.value = true
        pipes.send("x")
        for _ in 0..<4 { try loop.run(for: .zero) }
        XCTAssertEqual(pipes.log.value, ["1x", "0x"])
      }
    }
  }

  /// Another loop joins: neither of them trusts any more.
  func test_RLK_FD_40_inSeveralLoopsEachIsAskedAgain() {
    onThread {
      let loop = RunLoop.current
      let pipes = try Pipes(3)
      defer { pipes.end() }
      try pipes.add(to: loop)
      try pipes.settle(loop)
      let source = pipes.sources[2]
      onThread { try RunLoop.current.add(source, to: "elsewhere") }
      pipes.send("x")
      let asked = try self.polls { for _ in 0..<3 { try loop.run(for: .zero) } }
      XCTAssertEqual(asked, 1)
      XCTAssertEqual(pipes.log.value, ["0x", "1x", "2x"])
    }
  }

  /// A source that is removed and added again in its own callout, inside which a run fetches its new membership's event.
  func test_RLK_FD_40_addedAgainInItsCalloutItIsAskedAgain() {
    onThread {
      let loop = RunLoop.current
      let again = Box<() -> Void>({})
      let pipes = try Pipes(3) { index in if index == 0 { again.value() } }
      defer { pipes.end() }
      try pipes.add(to: loop)
      try pipes.settle(loop)
      nonisolated(unsafe) let all = pipes
      // The timer's callout, in the nested run, adds it: only what was a member before is left out there.
      let timer = RunLoop.Timer(after: .zero) { _ in
        loop.remove(all.sources[0])
        _ = try? loop.add(all.sources[0])
      }
      again.value = {
        again.value = {}
        _ = try? loop.add(timer)
        _ = try? loop.run(for: .zero)  // the timer
        all.all[2].send("y")
        all.all[1].send("y")
        _ = try? loop.run(for: .zero)  // fetches all three
      }
      pipes.all[0].send("x")
      for _ in 0..<5 { try loop.run(for: .zero) }
      XCTAssertEqual(pipes.log.value.sorted(), ["0x", "1y", "2y"])
    }
  }

  /// Nested runs in callouts of a batch serve the rest of it, in its order.
  func test_RLK_FD_38_nestedRunsServeTheRestOfTheBatch() {
    onThread {
      let loop = RunLoop.current
      let isNested = Box(false)
      let pipes = try Pipes(4) { index in if isNested.value, index < 3 { _ = try? loop.run(for: .zero) } }
      defer { pipes.end() }
      try pipes.add(to: loop)
      try pipes.settle(loop)
      isNested.value = true
      pipes.send("x")
      let asked = try self.polls { try loop.run(for: .zero) }
      XCTAssertEqual(asked, 0)
      XCTAssertEqual(pipes.log.value, ["3x", "2x", "1x", "0x"])
      for _ in 0..<3 { try loop.run(for: .zero) }
      XCTAssertEqual(pipes.log.value.count, 4)
    }
  }

  /// What was to be read may go without a read: of a timer's descriptor that is set anew.
  func test_RLK_FD_41_whatIsNoStreamIsAskedAgain() {
    onThread {
      let (loop, calls) = (RunLoop.current, Box(0))
      let kernel = rlc_kernel_default().pointee
      let clock = kernel.timerfd_create(kernel.context, RLC_CLOCK_MONOTONIC)
      let pipes = try Pipes(1) { _ in _ = kernel.timerfd_set(kernel.context, clock, .max) }
      defer { pipes.end() }
      try pipes.add(to: loop)
      let source = try Source(fileDescriptor: clock, interest: .readable, ownership: .closesWhenInvalidated) { _, _ in
        calls.value += 1
      }
      try loop.add(source)
      pipes.send("s")
      for _ in 0..<2 { try loop.run(for: .zero) }
      pipes.send("x")
      XCTAssertEqual(kernel.timerfd_set(kernel.context, clock, 1), 0)
      var entry = pollfd(fd: clock, events: Int16(POLLIN), revents: 0)
      XCTAssertEqual(poll(&entry, 1, -1), 1)
      calls.value = 0
      for _ in 0..<3 { try loop.run(for: .zero) }
      XCTAssertEqual(pipes.log.value, ["0s", "0x"])
      XCTAssertEqual(calls.value, 0)
      source.invalidate()
    }
  }
}
