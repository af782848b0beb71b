import Glibc
import RunLoopKit
import Synchronization
import XCTest

import class RunLoopKit.RunLoop

/// Removal with an answer.
final class RemovalTests: XCTestCase {
  private static let kinds = ["source", "port", "descriptor", "timer", "one-shot timer", "observer"]

  /// An item of the kind, ready to be called.
  private func make(_ kind: String, _ counter: EventCounter, _ body: @escaping @Sendable () -> Void) -> RunLoop.Item {
    counter.add()
    switch kind {
    case "port": return try! RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in body() }
    case "descriptor":
      return try! RunLoop.FileDescriptorSource(fileDescriptor: counter.descriptor, interest: .readable) { _, _ in body()
      }
    case "timer": return RunLoop.Timer(fireDate: .now, interval: .nanoseconds(1)) { _ in body() }
    case "one-shot timer": return RunLoop.Timer(fireDate: .now) { _ in body() }
    case "observer": return RunLoop.Observer(.beforeTimers) { _, _ in body() }
    default:
      let source = RunLoop.Source { _ in body() }
      source.signal()
      return source
    }
  }

  func test_RLK_REMOVE_1_itReturnsWhenTheCalloutOnAnotherThreadIsOver() throws {
    for kind in Self.kinds {
      for how in 0..<3 {
        let (isIn, mayGoOn, isOver, counter) = (Gate(), Gate(), Box(false), EventCounter())
        let item = make(kind, counter) {
          isIn.open()
          mayGoOn.wait()
          isOver.value = true
        }
        let thread = TestThread {
          let loop = RunLoop.current
          try! loop.add(RunLoop.Timer.never())
          try! loop.add(item, to: .common)
          try! loop.add(item, to: "other")
          _ = try? loop.run(for: .zero)
          _ = try? loop.run(for: .zero)  // not a second time
        }
        isIn.wait()
        // Removed before, in part or by another one's invalidate: the callout is waited for all the same.
        if how == 1 { item.invalidate() }
        XCTAssertEqual(
          thrown { try item.invalidateAndWait(timeout: .milliseconds(1)) }, .timedOut, kind)
        XCTAssertFalse(item.isValid)
        mayGoOn.open()
        XCTAssertNil(thrown { try item.invalidateAndWait(timeout: how == 2 ? .seconds(1000) : nil) })
        XCTAssertTrue(isOver.value, kind)
        thread.join()
        XCTAssertNil(thrown { try item.invalidateAndWait() })
      }
    }
  }

  func test_RLK_REMOVE_2_fromItsOwnCalloutItIsRefusedAndNothingIsDone() {
    for kind in Self.kinds {
      onThread {
        let (loop, counter, refusals, made) = (RunLoop.current, EventCounter(), Box(0), Box<RunLoop.Item?>(nil))
        let item = self.make(kind, counter) {
          counter.drain()
          guard refusals.value == 0 else { return }
          let isRefused = { @Sendable in
            do {
              try made.value!.invalidateAndWait()
            } catch {
              if error as? RunLoopError == .wouldDeadlock { refusals.update { $0 += 1 } }
            }
          }
          isRefused()
          // Deeper on the same thread, in another item's callout too.
          let source = RunLoop.Source { _ in isRefused() }
          source.signal()
          _ = try? loop.add(source, to: "nested")
          _ = try? loop.run(in: "nested", for: .zero)
          isRefused()
          XCTAssertTrue(made.value!.isValid)
        }
        made.value = item
        try loop.add(RunLoop.Timer.never())
        try loop.add(item)
        try loop.run(for: .zero)
        try loop.run(for: .zero)
        XCTAssertEqual(refusals.value, 3, kind)
        XCTAssertEqual(item.isValid, kind != "one-shot timer")
        XCTAssertNil(thrown { try item.invalidateAndWait() })
        made.value = nil
      }
    }
  }

  func test_RLK_REMOVE_3_anItemThatHasLeftItsLoopInItsCalloutIsWaitedFor() {
    for kind in Self.kinds {
      let (isIn, mayGoOn, isOver, counter, made) = (Gate(), Gate(), Box(false), EventCounter(), Box<RunLoop.Item?>(nil))
      let item = make(kind, counter) {
        _ = Thread.loop.value?.remove(made.value!)
        isIn.open()
        mayGoOn.wait()
        isOver.value = true
      }
      made.value = item
      let thread = TestThread {
        Thread.loop.value = RunLoop.current
        try! RunLoop.current.add(RunLoop.Timer.never())
        try! RunLoop.current.add(item)
        _ = try? RunLoop.current.run(for: .zero)
        Thread.loop.value = nil
      }
      isIn.wait()
      XCTAssertEqual(
        thrown { try item.invalidateAndWait(timeout: .milliseconds(1)) }, .timedOut, kind)
      mayGoOn.open()
      XCTAssertNil(thrown { try item.invalidateAndWait() })
      XCTAssertTrue(isOver.value, kind)
      thread.join()
      made.value = nil
    }
  }

  private enum Thread {
    static let loop = Box<RunLoop?>(nil)
  }

  func test_RLK_REMOVE_4_theLastCallComesOnceWhenNoCalloutRuns() {
    for kind in Self.kinds {
      let (counter, calls) = (EventCounter(), Box<[String]>([]))
      let idle = make(kind, counter) {}
      idle.invalidate(finally: { calls.update { $0.append("at once") } })
      idle.invalidate(finally: { calls.update { $0.append("again") } })
      XCTAssertEqual(calls.value, ["at once", "again"])

      onThread {
        let (loop, made, log) = (RunLoop.current, Box<RunLoop.Item?>(nil), Box<[String]>([]))
        let item = self.make(kind, counter) {
          made.value!.invalidate(finally: { log.update { $0.append("last \(loop.isCurrent)") } })
          // A nested run is no end of the callout that encloses it.
          let source = RunLoop.Source { _ in log.update { $0.append("nested") } }
          source.signal()
          _ = try? loop.add(source, to: "nested")
          _ = try? loop.run(in: "nested", for: .zero)
          log.update { $0.append("callout") }
        }
        made.value = item
        try loop.add(RunLoop.Timer.never())
        try loop.add(item)
        try loop.run(for: .zero)
        XCTAssertEqual(log.value, ["nested", "callout", "last true"], kind)
        made.value = nil
      }
    }
  }

  func test_RLK_REMOVE_5_fromAnotherThreadTheLastCallIsTheLoops() {
    for kind in Self.kinds {
      let (isIn, mayGoOn, counter, log) = (Gate(), Gate(), EventCounter(), Box<[String]>([]))
      let loop = Box<RunLoop?>(nil)
      let item = make(kind, counter) {
        isIn.open()
        mayGoOn.wait()
        log.update { $0.append("callout") }
      }
      let thread = TestThread {
        loop.value = RunLoop.current
        try! RunLoop.current.add(RunLoop.Timer.never())
        try! RunLoop.current.add(item)
        _ = try? RunLoop.current.run(for: .zero)
      }
      isIn.wait()
      item.invalidate(finally: { log.update { $0.append("last \(loop.value!.isCurrent)") } })
      XCTAssertEqual(log.value, [])
      mayGoOn.open()
      thread.join()
      XCTAssertEqual(log.value, ["callout", "last true"], kind)
    }
  }

  /// Memory without a lock: ThreadSanitizer sees whether the removal orders the callouts before what follows.
  private final class Unguarded: @unchecked Sendable {
    var calls = 0
    var isFreed = false
  }

  func test_RLK_REMOVE_6_underFireNothingIsCalledAfterwards() throws {
    let threads = (0..<2).map { RunLoop.Thread(name: "fire \($0)") }
    for thread in threads { try thread.start() }
    for round in 0..<600 {
      let kind = Self.kinds[round / 2 % Self.kinds.count]
      let (used, counter, called) = (Unguarded(), EventCounter(), Gate())
      let loop = threads[round / 12 % 2].loop!
      let item = make(kind, counter) {
        XCTAssertFalse(used.isFreed)
        used.calls += 1
        called.open()
      }
      if round % 3 == 0 { _ = try? loop.add(item, to: .common) }
      try loop.add(item)
      loop.wakeUp()
      if round % 2 == 0 { called.wait() }
      if round % 5 == 0 {
        let last = Gate()
        item.invalidate(finally: {
          used.isFreed = true
          last.open()
        })
        last.wait()
      } else {
        try item.invalidateAndWait()
        used.isFreed = true
      }
      XCTAssertTrue(used.isFreed)
      XCTAssertGreaterThanOrEqual(used.calls, round % 2 == 0 ? 1 : 0)
    }
    for thread in threads {
      thread.stop(.now)
      try thread.join()
    }
  }

  func test_RLK_REMOVE_7_ofSeveralLoopsAllAreAsked() throws {
    let threads = (0..<3).map { RunLoop.Thread(name: "shared \($0)") }
    for thread in threads { try thread.start() }
    for round in 0..<300 {
      let (isFreed, calls) = (Box(false), Box(0))
      let source = RunLoop.Source { source in
        XCTAssertFalse(isFreed.value)
        let count = calls.update { calls in
          calls += 1
          return calls
        }
        if count < 50 { source.signal() }
        if count % 7 == 0 { RunLoop.current.remove(source) }
      }
      for thread in threads { try thread.loop!.add(source, to: round % 2 == 0 ? .default : .common) }
      source.signal()
      for thread in threads { thread.loop!.wakeUp() }
      let removers = (0..<2).map { number in
        TestThread {
          if number == 0 { return source.invalidate() }
          try? source.invalidateAndWait()
        }
      }
      try source.invalidateAndWait()
      isFreed.value = true
      for remover in removers { remover.join() }
    }
    for thread in threads {
      thread.stop()
      try thread.join()
    }
  }

  // They wait for each other, and a timeout frees them.
  func test_RLK_REMOVE_8_twoThatRemoveEachOthersItems() throws {
    let (inA, inB, results) = (Gate(), Gate(), Box<[RunLoopError?]>([]))
    let items = Box<[RunLoop.Source]>([])
    let first = RunLoop.Source { _ in
      inA.open()
      inB.wait()
      let error = thrown { try items.value[1].invalidateAndWait(timeout: .milliseconds(2)) }
      results.update { $0.append(error) }
    }
    let second = RunLoop.Source { _ in
      inB.open()
      inA.wait()
      let error = thrown { try items.value[0].invalidateAndWait() }
      results.update { $0.append(error) }
    }
    items.value = [first, second]
    let threads = [first, second].map { source in
      TestThread {
        try! RunLoop.current.add(source)
        source.signal()
        _ = try? RunLoop.current.run(for: .zero)
      }
    }
    for thread in threads { thread.join() }
    XCTAssertEqual(results.value, [.timedOut, nil])
    items.value = []
  }
}
