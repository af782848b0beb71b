import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// A thread that ends inside a callout of its loop.
final class ThreadEndTests: XCTestCase {
  /// Runs `body` on a thread that it, or a callout in it, may end.
  private func onEndingThread(_ body: @escaping (RunLoop) throws -> Void) -> TestThread {
    TestThread {
      let loop = RunLoop.current
      do { try body(loop) } catch { XCTFail("\(error)") }
    }
  }

  func test_RLK_END_1_blocksBehindTheOneThatEndsTheThreadAreReleased() {
    let (released, isReady, queued, errors) = (Box<[Int]>([]), Gate(), Gate(), Box<[RunLoopError?]>([]))
    let loop = Box<RunLoop?>(nil)
    let thread = onEndingThread { own in
      loop.value = own
      @Sendable func leave(_ number: Int, in mode: RunLoop.Mode) {
        let token = Token { released.update { $0.append(number) } }
        try? own.enqueue(in: mode) {
          XCTFail("it ran")
          withExtendedLifetime(token) {}
        }
      }
      // Nested, so that two drains hold blocks.
      try own.enqueue {
        leave(0, in: "nested")
        leave(1, in: .default)
        try? own.enqueue(in: "inner") { pthread_exit(nil) }
        leave(2, in: "inner")
        _ = try? own.run(in: "inner", for: .zero)
      }
      leave(3, in: .default)
      leave(4, in: "nested")
      isReady.open()
      queued.wait()
      try own.run(for: .zero)
      XCTFail("the thread goes on")
    }
    isReady.wait()
    // One that is kept for another mode by a drain, and one of the queue.
    let callers = [[RunLoop.Mode.default, "either"], ["other"]].map { modes in
      TestThread {
        let thrown = thrown { try loop.value!.performAndWait(in: modes) {} }
        errors.update { $0.append(thrown) }
      }
    }
    yieldUntil(!loop.value!.isEmpty(in: "either") && !loop.value!.isEmpty(in: "other"))
    queued.open()
    thread.join()
    for caller in callers { caller.join() }
    XCTAssertEqual(released.value.sorted(), [0, 1, 2, 3, 4])
    XCTAssertEqual(errors.value, [.loopEnded, .loopEnded])
  }

  func test_RLK_END_2_timersBehindTheOneThatEndsTheThreadAreReleased() {
    let released = Box<Set<Int>>([])
    onEndingThread { loop in
      let now = RunLoop.Instant.now
      for number in 0..<4 {
        let token = Token { released.update { _ = $0.insert(number) } }
        let timer = RunLoop.Timer(fireDate: now.advanced(by: .nanoseconds(number))) { _ in
          withExtendedLifetime(token) {}
          pthread_exit(nil)
        }
        try loop.add(timer, to: .common)
      }
      try loop.run(for: .seconds(60))
    }.join()
    // What the frames of the first one's callout held is lost with them.
    XCTAssertTrue(released.value.isSuperset(of: [1, 2, 3]))
  }

  /// Removal with an answer does not wait for a callout that will never return.
  func test_RLK_END_3_aCalloutThatEndsItsThreadIsOver() {
    let (isIn, mayEnd, last) = (Gate(), Gate(), Box(0))
    let source = RunLoop.Source { _ in
      isIn.open()
      mayEnd.wait()
      pthread_exit(nil)
    }
    let thread = onEndingThread { loop in
      try loop.add(source)
      source.signal()
      try loop.run(for: .seconds(60))
    }
    isIn.wait()
    source.invalidate(finally: { last.value += 1 })
    XCTAssertEqual(thrown { try source.invalidateAndWait(timeout: .milliseconds(1)) }, .timedOut)
    XCTAssertEqual(last.value, 0)
    mayEnd.open()
    XCTAssertNil(thrown { try source.invalidateAndWait() })
    thread.join()
    XCTAssertEqual(last.value, 1)
  }

  /// The caller would wait for ever: a message instead.
  func test_RLK_END_4_aThreadThatEndsInAnAwaitedBlockEndsTheProcess() throws {
    let pipe = Pipe()
    let child = test_fork()
    if child == 0 {
      alarm(60)  // a hang says nothing
      dup2(pipe.writing, STDERR_FILENO)
      let thread = RunLoop.Thread(name: "ends")
      try? thread.start()
      try? thread.loop?.performAndWait { pthread_exit(nil) }
      _exit(0)
    }
    close(pipe.writing)
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 {}
    let words = pipe.receive()
    close(pipe.reading)
    if words.contains("after multi-threaded fork") {
      try skipCase("ThreadSanitizer starts no threads in a child of fork(2)")
    }
    XCTAssertNotEqual(status, 0)
    XCTAssertTrue(words.contains("inside a block of performAndWait"), "\(status): \(words)")
  }

  /// What answers instead of throwing: nothing, but that no run of a mode would start. Setting does nothing.
  func test_RLK_END_10_whatALoopThatHasEndedAnswers() {
    let ended = Box<RunLoop?>(nil)
    onThread {
      ended.value = RunLoop.current
      RunLoop.current.spinLimit = .microseconds(20)
    }
    let loop = ended.value!
    XCTAssertTrue(loop.hasEnded && loop.isEmpty(in: .default))
    XCTAssertEqual(loop.spinLimit, .zero)
    loop.spinLimit = .microseconds(10)
    XCTAssertEqual(loop.spinLimit, .zero)
    XCTAssertEqual(loop.modes, [])
    XCTAssertNil(loop.currentMode)
    XCTAssertNil(loop.nextFireDate(in: .default))
    XCTAssertFalse(loop.isWaiting)
  }

  /// Destructors of thread-specific data that come after the loop's use loops again: they get a new one, which ends too.
  func test_RLK_END_5_otherDestructorsMayUseLoops() {
    Self.results.value = []
    var key = pthread_key_t()
    pthread_key_create(&key) { _ in
      let loop = RunLoop.current
      let isNew = !loop.hasEnded
      let ran = Box(0)
      try? loop.perform { ran.value += 1 }
      _ = try? loop.run(for: .zero)
      ThreadEndTests.results.update { $0.append((isNew, ran.value, loop)) }
    }
    let first = Box<RunLoop?>(nil)
    onThread {
      pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
      first.value = RunLoop.current
      // The second round of destructors: after the end of the thread's loop.
      let token = Token { pthread_setspecific(Self.key.value, UnsafeRawPointer(bitPattern: 1)) }
      Self.key.value = key
      try RunLoop.current.enqueue { withExtendedLifetime(token) {} }
    }
    let results = Self.results.value
    XCTAssertFalse(results.isEmpty)
    for (isNew, ran, loop) in results {
      XCTAssertEqual(isNew, loop !== first.value || ran == 1)
      XCTAssertTrue(loop.hasEnded)
    }
    XCTAssertTrue(results.contains { $0.2 !== first.value && $0.1 == 1 })
    pthread_key_delete(key)
    Self.results.value = []
  }

  private static let key = Box(pthread_key_t())
  private static let results = Box<[(Bool, Int, RunLoop)]>([])

  /// Posting to a loop that ends: released, or refused.
  func test_RLK_END_6_whatIsPostedToAnEndingLoopIsReleased() {
    let (posted, gone) = (Box(0), Box(0))
    for _ in 0..<150 {
      let (loop, isReady, mayEnd) = (Box<RunLoop?>(nil), Gate(), Gate())
      let owner = TestThread {
        loop.value = RunLoop.current
        isReady.open()
        mayEnd.wait()
      }
      isReady.wait()
      mayEnd.open()
      var error: RunLoopError?
      while error == nil {
        let token = Token { gone.update { $0 += 1 } }
        posted.update { $0 += 1 }
        error = thrown { try loop.value!.perform { withExtendedLifetime(token) {} } }
      }
      owner.join()
      XCTAssertEqual(error, .loopEnded)
    }
    XCTAssertEqual(gone.value, posted.value)
  }

  func test_RLK_END_7_aNewThreadAtAnOldOnesNumberHasALoopOfItsOwn() {
    let (old, number, reused) = (Box<[RunLoop]>([]), Box<Set<pthread_t>>([]), Box(0))
    for _ in 0..<50 {
      onThread {
        if !number.update({ $0.insert(pthread_self()).inserted }) { reused.value += 1 }
        XCTAssertFalse(old.value.contains { $0.isCurrent })
        let loop = RunLoop.current
        XCTAssertTrue(loop.isCurrent && !loop.hasEnded)
        XCTAssertFalse(old.value.contains { $0 === loop })
        for ended in old.value { XCTAssertEqual(thrown { try ended.run(for: .zero) }, .loopEnded) }
        old.update { $0.append(loop) }
      }
    }
    XCTAssertGreaterThan(reused.value, 0)  // else nothing was shown
  }

  func test_RLK_END_8_oneSourceInEightLoopsOfEightThreads() throws {
    let threads = (0..<8).map { RunLoop.Thread(name: "loop \($0)") }
    for thread in threads { try thread.start() }
    let (loops, calls) = (threads.map { $0.loop! }, Box(0))
    let source = RunLoop.Source { _ in calls.update { $0 += 1 } }
    let editors = (0..<8).map { number in
      TestThread {
        for round in 0..<300 {
          let loop = loops[(number * 3 + round) % 8]
          switch round % 3 {
          case 0: _ = try? loop.add(source, to: round % 2 == 0 ? .default : .common)
          case 1:
            source.signal()
            loop.wakeUp()
          default: loop.remove(source, from: round % 2 == 0 ? .default : .common)
          }
        }
      }
    }
    for editor in editors { editor.join() }
    try source.invalidateAndWait()
    let last = calls.value
    for loop in loops { XCTAssertFalse(loop.contains(source)) }
    for thread in threads {
      thread.stop()
      try thread.join()
    }
    XCTAssertEqual(calls.value, last)
  }

  /// Whatever the dead stack holds, and whoever keeps the loop: its descriptors go with its thread.
  func test_RLK_END_12_noDescriptorIsLeftByThreadsThatEndInCallouts() {
    _ = RunLoop.main  // and what a process makes once
    for round in 0..<2 {
      var before = openDescriptors()
      for (index, ask) in Self.callouts.enumerated() {
        for _ in 0..<3 {
          onEndingThread { loop in
            try ask(loop)
            _ = try loop.run(for: .seconds(30))
            XCTFail("callout \(index): the thread goes on")
          }.join()
          if round == 0 { before = openDescriptors() }
          XCTAssertEqual(openDescriptors(), before, "callout \(index)")
        }
      }
    }
  }

  private static let callouts: [@Sendable (RunLoop) throws -> Void] = [
    { try $0.perform { pthread_exit(nil) } },
    { try $0.perform(after: .zero) { pthread_exit(nil) } },
    { loop in
      try loop.add(RunLoop.Timer.never())
      try loop.performWhenIdle { pthread_exit(nil) }
    },
    { try $0.add(RunLoop.Timer(fireDate: .now) { _ in pthread_exit(nil) }) },
    { try $0.add(RunLoop.Timer(fireDate: RunLoop.WallInstant.now) { _ in pthread_exit(nil) }) },
    { loop in
      try loop.add(RunLoop.Timer.never())
      try loop.add(RunLoop.Observer(.beforeWaiting) { _, _ in pthread_exit(nil) })
    },
    { loop in
      let source = RunLoop.Source { _ in pthread_exit(nil) }
      try loop.add(source)
      source.signal()
    },
    { loop in
      let counter = Counters.next()
      try loop.add(PortSourceFactory.make(counter) { pthread_exit(nil) })
      counter.add()
    },
    { loop in
      let counter = Counters.next()
      try loop.add(
        RunLoop.FileDescriptorSource(fileDescriptor: counter.descriptor, interest: .writable) { _, _ in
          _ = try? RunLoop.current.run(in: .default, for: .zero)
          pthread_exit(nil)
        })
    },
    { loop in
      try loop.add(
        RunLoop.ChildSource(processID: try RunLoop.ChildSource.spawn("/bin/true")) { _, _ in pthread_exit(nil) })
    },
    { loop in
      let port = RunLoop.Port { _, _ in pthread_exit(nil) }
      try loop.add(port)
      try port.sendRight.send(RunLoop.Message(id: 1))
    },
  ]

  /// Kept for ever: what the dead stacks hold of them is not the loop's.
  private enum Counters {
    private static let all = (0..<2).map { _ in EventCounter() }
    private static let used = Box(0)
    static func next() -> EventCounter {
      all[
        used.update { value in
          defer { value += 1 }
          return value % 2
        }]
    }
  }

  /// The number of its eventfd is another file's by then.
  func test_RLK_END_13_aWakeOfALoopThatHasEndedWritesNothing() {
    for _ in 0..<20 {
      let loop = Box<RunLoop?>(nil)
      onEndingThread { own in
        loop.value = own
        try own.perform { pthread_exit(nil) }
        _ = try own.run(for: .seconds(30))
      }.join()
      let counters = (0..<4).map { _ in EventCounter() }
      loop.value!.wakeUp()
      loop.value!.stop()
      for counter in counters {
        var value: UInt64 = 0
        XCTAssertEqual(read(counter.descriptor, &value, 8), -1)
      }
    }
  }

  /// A source's own descriptor is held for its callout, which does not return.
  func test_RLK_END_11_anOwnedDescriptorIsClosedWhenItsCalloutEndsTheThread() {
    let pipe = Pipe()
    onEndingThread { loop in
      let source = try RunLoop.FileDescriptorSource(
        fileDescriptor: pipe.reading, interest: .readable, ownership: .closesWhenInvalidated
      ) { _, _ in
        pthread_exit(nil)
      }
      try loop.add(source)
      pipe.send("x")
      try loop.run(for: .seconds(30))
      XCTFail("the thread goes on")
    }.join()
    XCTAssertFalse(pipe.hasReader)
    close(pipe.writing)
  }

  /// A thread that ends in the callouts of two owners, one inside the other, leaves no descriptor open.
  func test_RLK_END_11_inNestedCalloutsOfTwoOwnersBothAreClosed() {
    let pipes = [Pipe(), Pipe()]
    onEndingThread { loop in
      for (index, pipe) in pipes.enumerated() {
        try loop.add(
          RunLoop.FileDescriptorSource(
            fileDescriptor: pipe.reading, interest: .readable, ownership: .closesWhenInvalidated
          ) { _, _ in
            if index == 0 { _ = try? loop.run(for: .zero) }
            pthread_exit(nil)
          })
        pipe.send("x")
      }
      try loop.run(for: .zero)
    }.join()
    for pipe in pipes {
      XCTAssertFalse(pipe.hasReader)
      close(pipe.writing)
    }
  }
}
