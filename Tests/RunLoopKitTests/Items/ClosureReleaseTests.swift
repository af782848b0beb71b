import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// An item that is invalid lets go of its closure: not before its callout is over, and once.
final class ClosureReleaseTests: XCTestCase {
  /// Holds its item, whose closure holds it: a circle until the item lets go.
  private final class Owner: @unchecked Sendable {
    var item: RunLoop.Item?
    var handle: Any?
    let whenGone: @Sendable () -> Void

    init(_ whenGone: @escaping @Sendable () -> Void) { self.whenGone = whenGone }
    deinit { whenGone() }
    func isCalled() {}
  }

  private static let kinds = [
    "timer", "source", "observer", "port source", "descriptor", "port", "file watch", "signal",
  ]

  private func make(_ kind: String, _ counter: EventCounter, _ body: @escaping @Sendable () -> Void) throws
    -> RunLoop.Item
  {
    switch kind {
    case "timer": return RunLoop.Timer(fireDate: .now, interval: .nanoseconds(1)) { _ in body() }
    case "observer": return RunLoop.Observer(.beforeTimers) { _, _ in body() }
    case "port source": return try RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in body() }
    case "descriptor":
      return try RunLoop.FileDescriptorSource(fileDescriptor: counter.descriptor, interest: .readable) { _, _ in body()
      }
    case "port": return RunLoop.Port { _, _ in body() }
    case "file watch": return try RunLoop.FileWatch(path: "/", events: .changes) { _, _ in body() }
    case "signal": return try RunLoop.SignalSource(.user1) { _, _ in body() }
    default: return RunLoop.Source { _ in body() }
    }
  }

  func test_RLK_CLOSURE_1_invalidationFreesAnOwnerThatItsOwnItemHolds() throws {
    for kind in Self.kinds {
      for how in 0..<4 {
        let gone = Box(0)
        onThread {
          try RunLoop.Signal.block(.user1)
          let (loop, counter) = (RunLoop.current, EventCounter())
          let owner = Owner { gone.update { $0 += 1 } }
          owner.item = try self.make(kind, counter) { owner.isCalled() }
          let item = owner.item!
          if how > 0 { try loop.add(item, to: .common) }
          withExtendedLifetime(owner) { XCTAssertEqual(gone.value, 0, kind) }
          switch how {
          case 2: try item.invalidateAndWait()
          case 3: item.invalidate(finally: {})
          default: item.invalidate()
          }
          item.invalidate()
        }
        XCTAssertEqual(gone.value, 1, "\(kind), in way \(how)")
      }
    }
  }

  /// The owner is a local variable no more: only the circle holds it.
  func test_RLK_CLOSURE_2_theCircleIsCutAtOnce() throws {
    for kind in Self.kinds {
      onThread {
        try RunLoop.Signal.block(.user1)
        let (counter, gone) = (EventCounter(), Box(0))
        func makeCircle() throws -> RunLoop.Item {
          let owner = Owner { gone.update { $0 += 1 } }
          let item = try self.make(kind, counter) { owner.isCalled() }
          owner.item = item
          try RunLoop.current.add(item)
          return item
        }
        let item = try makeCircle()
        XCTAssertEqual(gone.value, 0, kind)
        item.invalidate()
        XCTAssertEqual(gone.value, 1, kind)
      }
    }
  }

  func test_RLK_CLOSURE_3_aOneShotThatHasFiredFreesItsOwner() {
    onThread {
      let (loop, gone, calls) = (RunLoop.current, Box(0), Box(0))
      func makeCircles() throws {
        for _ in 0..<2 {
          let owner = Owner { gone.update { $0 += 1 } }
          owner.item = RunLoop.Timer(fireDate: .now) { _ in
            owner.isCalled()
            calls.update { $0 += 1 }
          }
          try loop.add(owner.item!)
        }
        let watcher = Owner { gone.update { $0 += 1 } }
        watcher.item = RunLoop.Observer(.beforeTimers, repeats: false) { _, _ in
          watcher.isCalled()
          calls.update { $0 += 1 }
        }
        try loop.add(watcher.item!)
      }
      try makeCircles()
      try loop.run()
      XCTAssertEqual(calls.value, 3)
      XCTAssertEqual(gone.value, 3)
    }
  }

  func test_RLK_CLOSURE_4_notWithinItsOwnCallout() throws {
    for kind in ["timer", "source", "observer", "port source", "descriptor"] {
      onThread {
        let (loop, counter, gone, seen) = (RunLoop.current, EventCounter(), Box(0), Box<[Int]>([]))
        counter.add()
        func makeCircle() throws {
          let owner = Owner { gone.update { $0 += 1 } }
          owner.item = try self.make(kind, counter) {
            owner.item!.invalidate()
            // Deeper on the same stack, and in another item's callout too.
            let other = RunLoop.Source { _ in owner.item!.invalidate() }
            other.signal()
            _ = try? loop.add(other, to: "nested")
            _ = try? loop.run(in: "nested", for: .zero)
            other.invalidate()
            seen.update { $0.append(gone.value) }
            owner.isCalled()
          }
          (owner.item as? RunLoop.Source)?.signal()
          try loop.add(owner.item!)
        }
        let keeper = RunLoop.Timer.never()
        try loop.add(keeper)
        try makeCircle()
        try loop.run(for: .zero)
        XCTAssertEqual(seen.value, [0], kind)
        XCTAssertEqual(gone.value, 1, kind)
      }
    }
  }

  /// A source may be called in its own callout: the inner one's end is not enough.
  func test_RLK_CLOSURE_5_notBeforeTheOutermostOfItsCalloutsIsOver() {
    onThread {
      let (loop, gone, depth, seen) = (RunLoop.current, Box(0), Box(0), Box<[Int]>([]))
      func makeCircle() throws {
        let owner = Owner { gone.update { $0 += 1 } }
        owner.item = RunLoop.Source { source in
          depth.update { $0 += 1 }
          if depth.value == 1 {
            source.signal()
            _ = try? loop.run(for: .zero)
          } else {
            source.invalidate()
          }
          seen.update { $0.append(gone.value) }
          owner.isCalled()
        }
        (owner.item as? RunLoop.Source)?.signal()
        try loop.add(owner.item!)
      }
      try loop.add(RunLoop.Timer.never())
      try makeCircle()
      try loop.run(for: .zero)
      XCTAssertEqual(seen.value, [0, 0])
      XCTAssertEqual(gone.value, 1)
    }
  }

  func test_RLK_CLOSURE_6_anotherThreadLeavesItToTheCalloutsThread() throws {
    for kind in ["timer", "source", "observer", "port source", "descriptor"] {
      for waits in [false, true] {
        let (isIn, mayGoOn, counter) = (Gate(), Gate(), EventCounter())
        let (gone, item, loopThread) = (Box<[pthread_t]>([]), Box<RunLoop.Item?>(nil), Box<pthread_t>(0))
        counter.add()
        let thread = TestThread {
          loopThread.value = pthread_self()
          let loop = RunLoop.current
          func makeCircle() throws {
            let owner = Owner { gone.update { $0.append(pthread_self()) } }
            owner.item = try self.make(kind, counter) {
              isIn.open()
              mayGoOn.wait()
              owner.isCalled()
            }
            item.value = owner.item
            (owner.item as? RunLoop.Source)?.signal()
            try loop.add(owner.item!)
          }
          try! loop.add(RunLoop.Timer.never())
          try! makeCircle()
          _ = try? loop.run(for: .zero)
          XCTAssertEqual(gone.value.count, 1, kind)  // right after the callout, not at the end of the loop
        }
        isIn.wait()
        if waits {
          XCTAssertEqual(thrown { try item.value!.invalidateAndWait(timeout: .milliseconds(1)) }, .timedOut)
        } else {
          item.value!.invalidate()
        }
        item.value = nil
        XCTAssertEqual(gone.value.count, 0, kind)
        mayGoOn.open()
        thread.join()
        XCTAssertEqual(gone.value, [loopThread.value], kind)
      }
    }
  }

  func test_RLK_CLOSURE_7_inTwoLoopsTheLastCalloutsEndCounts() throws {
    let (isIn, mayGoOn, gone, item) = (Gate(), [Gate(), Gate()], Box(0), Box<RunLoop.Source?>(nil))
    let turn = Box(0)
    func makeCircle() {
      let owner = Owner { gone.update { $0 += 1 } }
      let source = RunLoop.Source { _ in
        let mine = turn.update { value in
          defer { value += 1 }
          return value
        }
        isIn.open()
        mayGoOn[mine].wait()
        owner.isCalled()
      }
      owner.item = source
      item.value = source
    }
    makeCircle()
    let over = [Gate(), Gate()]
    let threads = (0..<2).map { _ in
      item.value!.signal()
      let thread = TestThread {
        let loop = RunLoop.current
        try! loop.add(RunLoop.Timer.never())
        try! loop.add(item.value!)
        _ = try? loop.run(for: .zero)
        over[gone.value].open()
      }
      isIn.wait()
      return thread
    }
    item.value!.invalidate()
    item.value = nil
    mayGoOn[0].open()
    over[0].wait()
    XCTAssertEqual(gone.value, 0)
    mayGoOn[1].open()
    over[1].wait()
    XCTAssertEqual(gone.value, 1)
    for thread in threads { thread.join() }
  }

  func test_RLK_CLOSURE_8_whatBelongsToALoopIsReleasedOnItsThread() {
    onThread {
      let (loop, gone, own) = (RunLoop.current, Box<[pthread_t]>([]), pthread_self())
      func makeItem() throws -> RunLoop.Timer {
        let token = Token { gone.update { $0.append(pthread_self()) } }
        return try loop.assumeOnLoop { local in
          try local.timer(after: .seconds(1000)) { _ in withExtendedLifetime(token) {} }
        }
      }
      // On this thread, in no callout: at once.
      try makeItem().invalidate()
      XCTAssertEqual(gone.value, [own])
      let timer = try makeItem()
      TestThread { timer.invalidate() }.join()
      XCTAssertEqual(gone.value, [own])
      let source = RunLoop.Source { _ in }
      source.signal()
      try loop.add(source)
      try loop.run(for: .zero)
      XCTAssertEqual(gone.value, [own, own])
      // Or at the end of the loop.
      let last = try makeItem()
      TestThread { last.invalidate() }.join()
      RunLoop.Scope.deferred { XCTAssertEqual(gone.value, [own, own]) }
    }
  }

  /// What the release runs may do whatever a callout may.
  func test_RLK_CLOSURE_9_theReleaseHoldsNoLock() {
    onThread {
      let (loop, calls) = (RunLoop.current, Box(0))
      let other = RunLoop.Source { _ in }
      func makeItem(_ isOneShot: Bool) throws -> RunLoop.Timer {
        let token = Token {
          calls.update { $0 += 1 }
          _ = loop.remove(other)
          _ = try? loop.add(other)
          _ = loop.description
          _ = try? loop.run(in: "nested", for: .zero)
        }
        let timer = RunLoop.Timer(fireDate: .now, interval: isOneShot ? .zero : .seconds(1)) { timer in
          withExtendedLifetime(token) { if !isOneShot { timer.invalidate() } }
        }
        try loop.add(timer)
        return timer
      }
      let timers = [try makeItem(true), try makeItem(false)]
      try loop.run(for: .zero)
      XCTAssertEqual(calls.value, 2)
      try makeItem(false).invalidate()
      XCTAssertEqual(calls.value, 3)
      XCTAssertFalse(timers.contains { $0.isValid })
    }
  }

  /// Several threads against a loop that calls: never used after the release, and released once.
  func test_RLK_CLOSURE_10_manyThreadsInvalidateWhatIsCalled() {
    let (made, gone, rounds) = (Box(0), Box(0), 200)
    onThread {
      let loop = RunLoop.current
      for round in 0..<rounds {
        let (isIn, calls) = (Gate(), Box(0))
        var items: [RunLoop.Item] = []
        for index in 0..<4 {
          let token = Token { gone.update { $0 += 1 } }
          made.update { $0 += 1 }
          let value = Box(0)
          let body: @Sendable () -> Void = {
            value.update { $0 += 1 }
            calls.update { $0 += 1 }
            if calls.value == 1 { isIn.open() }
            withExtendedLifetime(token) {}
          }
          switch index {
          case 0: items.append(RunLoop.Timer(fireDate: .now, interval: .nanoseconds(1)) { _ in body() })
          case 1: items.append(RunLoop.Timer(fireDate: .now) { _ in body() })
          case 2: items.append(RunLoop.Observer(.beforeTimers) { _, _ in body() })
          default:
            let source = RunLoop.Source { source in
              body()
              source.signal()
            }
            source.signal()
            items.append(source)
          }
        }
        for item in items { try loop.add(item) }
        let shared = items
        let thread = TestThread {
          isIn.wait()
          for item in shared.reversed() {
            if round % 2 == 0 { item.invalidate() } else { try? item.invalidateAndWait() }
          }
        }
        while !loop.isEmpty(in: .default) { try loop.run(for: .zero) }
        for item in items { item.invalidate() }
        thread.join()
      }
    }
    XCTAssertEqual(gone.value, made.value)
  }

  func test_RLK_CLOSURE_11_handlesLetGoToo() {
    onThread {
      let (loop, gone) = (RunLoop.current, Box(0))
      func makeLink() throws -> RunLoop.DisplayLink {
        let owner = Owner { gone.update { $0 += 1 } }
        let link = RunLoop.DisplayLink { _, _ in owner.isCalled() }
        owner.handle = link
        try link.add(to: loop)
        return link
      }
      func makeCommit(_ moment: RunLoop.Commit.Moment) throws -> RunLoop.Commit {
        let owner = Owner { gone.update { $0 += 1 } }
        let commit = try RunLoop.Commit(on: loop, at: moment) { owner.isCalled() }
        owner.handle = commit
        return commit
      }
      func makeObservation(_ port: RunLoop.Port) -> RunLoop.Port.Observation {
        let owner = Owner { gone.update { $0 += 1 } }
        let observation = port.sendRight.onInvalidation { owner.isCalled() }
        owner.handle = observation
        return observation
      }
      try makeLink().invalidate()
      XCTAssertEqual(gone.value, 1)
      for moment: RunLoop.Commit.Moment in [.beforeWaiting, .afterReady] {
        let commit = try makeCommit(moment)
        commit.setNeeded()
        commit.invalidate()
        XCTAssertFalse(try commit.flush())
      }
      XCTAssertEqual(gone.value, 3)
      let port = RunLoop.Port { _, _ in }
      makeObservation(port).cancel()
      XCTAssertEqual(gone.value, 4)
      let observation = makeObservation(port)
      port.invalidate()
      XCTAssertEqual(gone.value, 5)
      observation.cancel()
    }
  }
}
