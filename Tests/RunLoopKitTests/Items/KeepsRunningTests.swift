import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Members that do not keep a run going.
final class KeepsRunningTests: XCTestCase {
  private func background<Item: RunLoop.Item>(_ item: Item) -> Item {
    item.keepsRunning = false
    return item
  }

  func test_RLK_KEEP_1_aModeWithNothingElseIsEmpty() {
    onThread {
      let (loop, calls) = (RunLoop.current, Box(0))
      let beat = self.background(
        RunLoop.Timer(fireDate: .now, interval: .nanoseconds(1)) { _ in calls.value += 1 })
      XCTAssertFalse(beat.keepsRunning)
      try loop.add(beat)
      XCTAssertTrue(loop.isEmpty(in: .default))
      XCTAssertEqual(try loop.run(for: .seconds(30)), .finished)
      XCTAssertEqual(calls.value, 0)
      XCTAssertTrue(loop.contains(beat) && loop.description.contains("kept by: nothing"))

      // It is served as long as something else keeps the run going.
      let work = RunLoop.Timer(fireDate: .now.advanced(by: .milliseconds(3))) { _ in }
      try loop.add(work)
      XCTAssertFalse(loop.isEmpty(in: .default))
      XCTAssertTrue(loop.description.contains("kept by: 2 timers, of which 1 in the background keep nothing"))
      XCTAssertEqual(try loop.run(for: .seconds(30)), .finished)
      XCTAssertGreaterThan(calls.value, 0)
      XCTAssertTrue(!work.isValid && beat.isValid)
    }
  }

  /// Of every kind, before and after it is added; in common modes too.
  func test_RLK_KEEP_2_everyKind_atOnce() throws {
    let (counter, pipe) = (EventCounter(), Pipe())
    let items: [RunLoop.Item] = [
      RunLoop.Source { _ in }, try PortSourceFactory.make(counter) {}, RunLoop.Timer.never(), RunLoop.Port { _, _ in },
      try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, _ in },
      try RunLoop.FileWatch(path: "/tmp", events: .changes) { _, _ in },
      RunLoop.Timer(fireDate: RunLoop.WallInstant.distantFuture) { _ in },
    ]
    onThread {
      let loop = RunLoop.current
      loop.addCommonMode("KEEP_2")
      let modes: [RunLoop.Mode] = [.default, "KEEP_2"]
      func isEmpty() -> Bool {
        let answers = Set(modes.map { loop.isEmpty(in: $0) })
        XCTAssertEqual(answers.count, 1)
        return answers.first!
      }
      for item in items {
        XCTAssertTrue(item.keepsRunning)
        try loop.add(item, to: .common)
        XCTAssertFalse(isEmpty(), "\(item)")
        for _ in 1...2 { item.keepsRunning = false }
        XCTAssertTrue(isEmpty(), "\(item)")
        for _ in 1...2 { item.keepsRunning = true }
        XCTAssertFalse(isEmpty(), "\(item)")
        item.keepsRunning = false
        loop.remove(item, from: .common)
        XCTAssertTrue(isEmpty(), "\(item)")
        item.keepsRunning = true  // in no mode
        XCTAssertTrue(isEmpty(), "\(item)")
        item.keepsRunning = false
        try loop.add(item, to: .common)
        XCTAssertTrue(isEmpty(), "\(item)")
      }
      // All together; what leaves takes its mark along.
      for item in items.dropFirst() { item.invalidate() }
      items[0].keepsRunning = true
      XCTAssertFalse(isEmpty())
      items[0].keepsRunning = false
      XCTAssertTrue(isEmpty())
      items[0].invalidate()
      let other = RunLoop.Source { _ in }
      try loop.add(other, to: .common)
      XCTAssertFalse(isEmpty())
      other.invalidate()
      XCTAssertTrue(isEmpty())
    }
    pipe.closeBoth()
    let observer = background(RunLoop.Observer(.all) { _, _ in })
    observer.keepsRunning = true
    XCTAssertFalse(observer.keepsRunning)
  }

  func test_RLK_KEEP_1_aDescriptorHasItsTurnBesideATimerThatIsAlwaysDue() {
    onThread {
      let (loop, counter) = (RunLoop.current, EventCounter())
      let source = self.background(try PortSourceFactory.make(counter) { loop.stop() })
      try loop.add(source)
      counter.add()
      let fires = Box(0)
      try loop.add(
        RunLoop.Timer(fireDate: .now, interval: .nanoseconds(1)) { timer in
          fires.value += 1
          if fires.value > 30 { timer.invalidate() }
        })
      XCTAssertEqual(try loop.run(for: .seconds(30)), .stopped)
      XCTAssertLessThan(fires.value, 3)
      source.invalidate()
    }
  }

  /// In each of its loops.
  func test_RLK_KEEP_2_aSourceOfSeveralLoops() {
    onThread {
      let (loop, source) = (RunLoop.current, RunLoop.Source { _ in })
      let (other, isAdded, mayEnd) = (Box<RunLoop?>(nil), Gate(), Gate())
      try loop.add(source)
      let owner = TestThread {
        other.value = .current
        XCTAssertNil(thrown { try RunLoop.current.add(source) })
        isAdded.open()
        mayEnd.wait()
      }
      isAdded.wait()
      for keepsRunning in [false, true, false] {
        source.keepsRunning = keepsRunning
        XCTAssertNotEqual(loop.isEmpty(in: .default), keepsRunning)
        XCTAssertNotEqual(other.value?.isEmpty(in: .default), keepsRunning)
      }
      mayEnd.open()
      owner.join()
    }
  }

  func test_RLK_KEEP_3_aSleepingRunLooksAfterAWake() {
    let (loop, ready) = (Box<RunLoop?>(nil), Gate())
    let source = RunLoop.Source { _ in }
    let owner = TestThread {
      loop.value = .current
      _ = try? RunLoop.current.add(source)
      ready.open()
      XCTAssertEqual(try? RunLoop.current.run(for: .seconds(30)), .finished)
    }
    ready.wait()
    yieldUntil(loop.value!.isWaiting)
    source.keepsRunning = false
    loop.value!.wakeUp()
    owner.join()
  }

  /// A limited source that does not keep the run going does not do so while it rests either.
  func test_RLK_KEEP_4_itsRestKeepsNothing() throws {
    let counter = EventCounter()
    let calls = Box(0)
    let limit = RunLoop.RateLimit(count: 1, per: .seconds(1000))
    let work = RunLoop.Timer.never()
    let port = background(
      try RunLoop.PortSource(fileDescriptor: counter.descriptor, limit: limit) { _ in
        calls.value += 1
        work.invalidate()  // nothing is left but the rest that begins now
      })
    onThread {
      let loop = RunLoop.current
      try loop.add(port)
      try loop.add(work)
      counter.add()
      XCTAssertEqual(try loop.run(for: .seconds(30)), .finished)
      XCTAssertEqual(calls.value, 1)
      XCTAssertTrue(loop.isEmpty(in: .default))
      port.invalidate()
    }
  }

  /// Threads change it while others add and remove: the modes are right in the end.
  func test_RLK_KEEP_5_byManyThreads() {
    onThread {
      let loop = RunLoop.current
      let items: [RunLoop.Item] = (0..<4).map { $0 % 2 == 0 ? RunLoop.Source { _ in } : RunLoop.Timer.never() }
      let threads = (0..<4).map { number in
        TestThread {
          for round in 0..<500 {
            let item = items[(round + number) % items.count]
            if number < 2 {
              item.keepsRunning = round % 3 == 0
            } else if round % 2 == 0 {
              _ = try? loop.add(item)
            } else {
              loop.remove(item)
            }
          }
        }
      }
      for thread in threads { thread.join() }
      for item in items { _ = try loop.add(item) }
      for item in items { item.keepsRunning = false }
      XCTAssertTrue(loop.isEmpty(in: .default))
      for item in items {
        item.keepsRunning = true
        XCTAssertFalse(loop.isEmpty(in: .default))
        item.keepsRunning = false
      }
      for item in items {
        item.keepsRunning = true
        item.invalidate()
      }
      XCTAssertTrue(loop.isEmpty(in: .default))
    }
  }

  /// The host keeps the pass: of every kind, in a mode with nothing else, no event is lost, and none is told for ever.
  func test_RLK_KEEP_6_aHostServesThem() {
    let (counter, pipe, folder) = (EventCounter(), Pipe(), FileWatchTests.Folder())
    defer { pipe.closeBoth() }
    onThread {
      let (loop, calls) = (RunLoop.current, Box(0))
      let source = RunLoop.Source { _ in calls.value += 1 }
      let port = RunLoop.Port { _, _ in calls.value += 1 }
      let timer = RunLoop.Timer(rearmable: .distantFuture) { _ in calls.value += 1 }
      let wall = RunLoop.Timer(rearmableOn: .wall) { _ in calls.value += 1 }
      let edge = try RunLoop.FileDescriptorSource(
        fileDescriptor: pipe.reading, interest: .readable, trigger: .edge
      ) { _, _ in calls.value += 1 }
      let watch = try RunLoop.FileWatch(path: folder.path, events: .changes) { _, _ in calls.value += 1 }
      let kinds: [(RunLoop.Item, () throws -> Void)] = [
        (source, { source.signal() }), (try PortSourceFactory.make(counter) { calls.value += 1 }, { counter.add() }),
        (timer, { timer.rearm(after: .zero) }), (port, { try port.sendRight.trySend(RunLoop.Message(id: 1)) }),
        (edge, { pipe.send("x") }), (watch, { mkdir(folder.file("new"), 0o700) }), (wall, { wall.rearm(after: .zero) }),
      ]
      let descriptor = try loop.hostDescriptor().fileDescriptor
      for (item, cause) in kinds {
        calls.value = 0
        try loop.add(self.background(item))
        XCTAssertTrue(loop.isEmpty())
        XCTAssertFalse(try loop.prepareToWait(), "\(item)")
        try cause()
        // By either of its two ways.
        if try !loop.prepareToWait() { XCTAssertTrue(isReadable(descriptor, 30_000), "\(item)") }
        XCTAssertEqual(try loop.runPendingWork(), .timedOut)
        XCTAssertEqual(calls.value, 1, "\(item)")
        XCTAssertFalse(try loop.prepareToWait(), "\(item)")
        XCTAssertFalse(isReadable(descriptor), "\(item)")
        XCTAssertEqual(try loop.runPendingWork(), .timedOut)
        item.invalidate()
      }
    }
  }
}
