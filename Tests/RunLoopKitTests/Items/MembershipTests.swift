import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class MembershipTests: XCTestCase {
  func test_RLK_ADD_1_theAnswerSaysWhetherAnythingChanged() {
    onThread {
      let loop = RunLoop.current
      let source = RunLoop.Source { _ in }
      XCTAssertTrue(try loop.add(source))
      XCTAssertFalse(try loop.add(source))
      XCTAssertTrue(loop.contains(source))
      XCTAssertTrue(try loop.add(source, to: .common))
      XCTAssertFalse(try loop.add(source, to: .common))
      XCTAssertTrue(loop.remove(source, from: .common))
      XCTAssertFalse(loop.remove(source))
      source.invalidate()
      XCTAssertFalse(try loop.add(source))
      XCTAssertFalse(source.isValid)
    }
  }

  func test_RLK_MODE_6_aNameMayBeMadeAtRunTime() {
    onThread {
      let loop = RunLoop.current
      let name = ["pan", "el"].joined()
      try loop.add(RunLoop.Timer.never(), to: RunLoop.Mode(name))
      XCTAssertTrue(loop.modes.contains("panel"))
      XCTAssertEqual(RunLoop.Mode(name), "panel")
      XCTAssertEqual(RunLoop.Mode("panel").rawValue, name)
    }
  }

  func test_RLK_ADD_2_timersAndObserversBelongToOneLoop() {
    let timer = RunLoop.Timer.never()
    let observer = RunLoop.Observer(.all) { _, _ in }
    let mine = RunLoop.current
    XCTAssertTrue(try mine.add(timer, to: "ADD_2"))
    XCTAssertTrue(try mine.add(observer, to: "ADD_2"))
    onThread {
      XCTAssertFalse(try RunLoop.current.add(timer))
      XCTAssertFalse(try RunLoop.current.add(observer, to: .common))
    }
    mine.remove(timer, from: "ADD_2")
    onThread { XCTAssertTrue(try RunLoop.current.add(timer)) }
    XCTAssertTrue(timer.isValid)
    observer.invalidate()
  }

  func test_RLK_ADD_3_badDescriptorsAreErrorsAndNothingIsHalfAdded() throws {
    XCTAssertThrowsError(try RunLoop.PortSource(fileDescriptor: -1) { _ in }) {
      XCTAssertEqual($0 as? RunLoopError, .system(EBADF))
    }
    let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    let source = try RunLoop.FileDescriptorSource(fileDescriptor: file, interest: .readable) { _, _ in }
    onThread {
      let loop = RunLoop.current
      loop.addCommonMode("other")
      XCTAssertThrowsError(try loop.add(source, to: .common)) {
        XCTAssertEqual($0 as? RunLoopError, .system(EPERM))
      }
      XCTAssertFalse(loop.contains(source, in: .common))
      XCTAssertFalse(loop.contains(source))
      XCTAssertTrue(loop.isEmpty(in: .default))
    }
  }

  /// In a child, which has no other thread that could get the numbers.
  func test_RLK_ADD_8_aClosedDescriptorIsRefusedByAdd() throws {
    guard test_may_have_threads_after_fork() == 1 else { try skipCase("a forked process may have no threads here") }
    inChild { check in
      try onOwnThread { loop in
        let closed = dup(STDERR_FILENO)
        close(closed)
        let port = try RunLoop.PortSource(fileDescriptor: closed) { _ in }
        let source = try RunLoop.FileDescriptorSource(fileDescriptor: closed, interest: .readable) { _, _ in }
        func refuses(_ item: RunLoop.Item, _ call: String) {
          let error = thrown { try loop.add(item) }
          check.equal(error, .system(EBADF))
          check.equal(error?.call, call)
          check.that(!loop.contains(item) && item.isValid && loop.isEmpty(in: .default), "\(item) was added")
        }
        // The lowest free number is what the loop's own descriptors would get.
        refuses(port, "fcntl")
        refuses(source, "fcntl")
        let counter = EventCounter()
        let other = try PortSourceFactory.make(counter) {}
        try loop.add(other)
        loop.remove(other)
        let unused = dup2(STDERR_FILENO, 400)
        close(unused)
        refuses(try RunLoop.PortSource(fileDescriptor: unused) { _ in }, "epoll_ctl")
        refuses(try RunLoop.FileDescriptorSource(fileDescriptor: unused, interest: .readable) { _, _ in }, "epoll_ctl")
      }
    }
  }

  /// In a child, too.
  func test_RLK_ADD_4_noDescriptorLeftIsAnError() throws {
    guard test_may_have_threads_after_fork() == 1 else { try skipCase("a forked process may have no threads here") }
    inChild { check in
      try onOwnThread { loop in
        let timer = RunLoop.Timer.never()
        let counter = EventCounter()
        let port = try PortSourceFactory.make(counter) {}
        try loop.add(RunLoop.Source { _ in })
        withDescriptors(0) {
          check.equal(try? loop.add(timer), true)
          for error in [thrown { try loop.add(port) }, thrown { try loop.run(for: .zero) }] {
            check.equal(error, .system(EMFILE))
            check.equal(error?.call, "eventfd")
          }
        }
        check.that(loop.contains(timer))
        check.that(!loop.contains(port))
        check.equal(try loop.add(port), true)
        check.equal(try loop.run(for: .zero), .timedOut)
        withExtendedLifetime(counter) {}
      }
    }
  }

  func test_RLK_ADD_5_equalSourcesAreOneMember() {
    onThread {
      let loop = RunLoop.current
      let log = Box<[String]>([])
      func make(_ name: String, _ group: String, order: Int = 0) -> RunLoop.Source {
        var hooks = RunLoop.Source.Hooks()
        hooks.identity = group
        hooks.schedule = { _, mode in log.update { $0.append("schedule \(name)") } }
        hooks.cancel = { _, mode in log.update { $0.append("cancel \(name)") } }
        return RunLoop.Source(order: order, hooks: hooks) { _ in log.update { $0.append("perform \(name)") } }
      }
      let (first, second, other) = (make("first", "g"), make("second", "g"), make("other", "g", order: 1))
      XCTAssertEqual(first, second)
      XCTAssertNotEqual(first, other)
      XCTAssertTrue(try loop.add(first))
      XCTAssertFalse(try loop.add(second))
      XCTAssertTrue(try loop.add(other))
      XCTAssertTrue(loop.contains(second))
      first.signal()
      try loop.run(for: .zero)
      XCTAssertTrue(loop.remove(second))
      XCTAssertFalse(loop.contains(first))
      XCTAssertEqual(log.value, ["schedule first", "schedule other", "perform first", "cancel second"])
    }
  }

  /// For the pause of a source, for a request and for a task: none of that is a program's to remove.
  func test_RLK_ADD_9_whatTheLoopHasMadeForItselfIsNotFound() {
    onThread {
      let (loop, counter, found) = (RunLoop.current, EventCounter(), Box<[RunLoop.Item]>([]))
      let limit = RunLoop.RateLimit(count: 1, per: .seconds(3600))
      let paused = try RunLoop.PortSource(fileDescriptor: counter.descriptor, limit: limit) { _ in }
      let port = RunLoop.Port(replying: { (_: RunLoop.Port, message: RunLoop.Message) -> RunLoop.Message? in
        found.value = loop.items()
        return message
      })
      for item in [paused, port] as [RunLoop.Item] { try loop.add(item) }
      counter.add()
      try loop.run(for: .zero)
      XCTAssertEqual(Set(loop.items()), [paused, port])
      _ = try port.sendRight.request(RunLoop.Message())
      XCTAssertEqual(Set(found.value), [paused, port])
      found.value = []
      try loop.run { found.value = loop.items() }
      XCTAssertEqual(Set(found.value), [paused, port])
      XCTAssertEqual(loop.items(in: .common), [])
    }
  }

  func test_RLK_ADD_6_itemsOfAnotherThreadsDoorAreRefused() {
    let foreign = Box<RunLoop.Source?>(nil)
    let thread = RunLoop.current
    onThread {
      try RunLoop.current.assumeOnLoop { local in foreign.value = try local.source { _ in } }
      XCTAssertThrowsError(try thread.add(foreign.value!)) { XCTAssertEqual($0 as? RunLoopError, .itemInOtherLoop) }
    }
  }

  /// What a body throws keeps its type, with and without the maker of items.
  func test_RLK_ADD_10_theDoorKeepsTheTypeOfAnError() {
    struct Failure: Error {}
    onThread {
      let loop = RunLoop.current
      XCTAssertEqual(loop.assumeOnLoop { _ in 7 }, 7)
      do throws(Failure) {
        try loop.assumeOnLoop { _ throws(Failure) in throw Failure() }
        XCTFail("nothing was thrown")
      } catch {
        let typed: Failure = error
        _ = typed
      }
      let source = try loop.assumeOnLoop { local in try local.source { _ in } }
      XCTAssertTrue(loop.contains(source))
    }
  }

  func test_RLK_ADD_7_anItemThatNobodyHoldsIsDestroyed() {
    onThread {
      let loop = RunLoop.current
      weak var timer: RunLoop.Timer?
      do {
        let made = RunLoop.Timer.never()
        timer = made
        try loop.add(made)
        try loop.add(made, to: "other")
      }
      XCTAssertNotNil(timer)
      timer.map { _ = loop.remove($0) }
      XCTAssertNotNil(timer)
      timer.map { _ = loop.remove($0, from: "other") }
      XCTAssertNil(timer)
    }
  }

  func test_RLK_ADD_9_aModeTellsItsItems() {
    onThread {
      let (loop, counter) = (RunLoop.current, EventCounter())
      let items: [RunLoop.Item] = [
        RunLoop.Source { _ in }, RunLoop.Observer(.entry, order: -1) { _, _ in }, RunLoop.Observer(.entry) { _, _ in },
        RunLoop.Timer.never(), RunLoop.Timer(fireDate: RunLoop.WallInstant.distantFuture) { _ in },
        try RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in },
      ]
      for item in items.reversed() { try loop.add(item, to: "mine") }
      XCTAssertEqual(loop.items(in: "mine").map(ObjectIdentifier.init), items.map(ObjectIdentifier.init))
      XCTAssertEqual(loop.items(in: .default), [])
      XCTAssertEqual(loop.items(in: "unknown"), [])
      try loop.add(items[3], to: .common)
      try loop.add(items[0], to: .common)
      XCTAssertEqual(loop.items(in: .common), [items[3], items[0]])
      XCTAssertEqual(loop.items(), [items[0], items[3]])
      XCTAssertFalse(loop.modes.contains("unknown"))
    }
  }

  /// The `==` of a source's identity is user code: no lock is held, so that another thread can ask the loop meanwhile.
  func test_RLK_ADD_12_noLockIsHeldWhileIdentitiesAreCompared() {
    struct Name: Hashable, Sendable {
      let name: String
      let compared: Box<Int>
      let loop: RunLoop
      let mayAsk: Box<Bool>
      static func == (a: Name, b: Name) -> Bool {
        a.compared.value += 1
        if a.mayAsk.value {
          let (answered, loop) = (Gate(), a.loop)
          TestThread {
            _ = loop.modes
            answered.open()
          }.detach()
          if !answered.wait(atMost: 10) {
            a.mayAsk.value = false  // the lock is held: no use to try again
            XCTFail("the loop is locked")
          }
        }
        return a.name == b.name
      }
      func hash(into hasher: inout Hasher) { hasher.combine(name) }
    }
    onThread {
      let (loop, compared, mayAsk) = (RunLoop.current, Box(0), Box(true))
      func source(_ name: String) -> RunLoop.Source {
        var hooks = RunLoop.Source.Hooks()
        hooks.identity = Name(name: name, compared: compared, loop: loop, mayAsk: mayAsk)
        return RunLoop.Source(hooks: hooks) { _ in }
      }
      let (first, equal, other) = (source("a"), source("a"), source("b"))
      XCTAssertTrue(try loop.add(first))
      XCTAssertFalse(try loop.add(equal))
      XCTAssertTrue(try loop.add(other))
      XCTAssertTrue(loop.contains(equal))
      XCTAssertTrue(try loop.add(equal, to: .common))
      XCTAssertFalse(try loop.add(first, to: .common))
      loop.addCommonMode("m")
      XCTAssertTrue(loop.contains(first, in: "m"))
      XCTAssertTrue(loop.contains(first, in: .common))
      XCTAssertTrue(loop.remove(first, from: .common))
      XCTAssertFalse(loop.contains(equal))
      XCTAssertFalse(loop.contains(first, in: "m"))
      XCTAssertTrue(loop.remove(other))
      XCTAssertEqual(compared.value, 1)  // the two equal ones, once
    }
  }
}
