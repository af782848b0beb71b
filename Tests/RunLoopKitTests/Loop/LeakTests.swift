import Glibc
import RunLoopKit
import Synchronization
import XCTest

import class RunLoopKit.RunLoop

/// What nobody holds any more is gone: items, what their closures hold, and loops.
final class LeakTests: XCTestCase {
  private final class Token: Sendable {}

  private struct Weak {
    weak var object: AnyObject?

    init(_ object: AnyObject) { self.object = object }
  }

  /// One item of each kind, whose closures hold `kept`.
  private func makeItems(_ counter: EventCounter, holding kept: [any Sendable & AnyObject]) throws -> [RunLoop.Item] {
    [
      RunLoop.Timer(fireDate: .now) { _ in withExtendedLifetime(kept) {} },
      RunLoop.Source { _ in withExtendedLifetime(kept) {} },
      RunLoop.Observer(.all) { _, _ in withExtendedLifetime(kept) {} },
      try RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in withExtendedLifetime(kept) {} },
      try RunLoop.FileDescriptorSource(fileDescriptor: counter.descriptor, interest: []) { _, _ in
        withExtendedLifetime(kept) {}
      },
      RunLoop.Port { _, _ in withExtendedLifetime(kept) {} },
    ]
  }

  func test_RLK_LEAK_1_theEndOfAThreadFreesItsLoopAndAllThatItHeld() {
    for isRun in [false, true] {
      let (weak, counter) = (Box<[Weak]>([]), EventCounter())
      onThread {
        let loop = RunLoop.current
        let token = Token()
        let items = try self.makeItems(counter, holding: [loop, token])
        weak.value = items.map { Weak($0) } + [Weak(loop), Weak(token)]
        loop.addCommonMode("second")
        for item in items {
          try loop.add(item, to: .common)
          try loop.add(item, to: "third")
        }
        if isRun { try loop.run(in: "third", for: .zero) }
        for mode: RunLoop.Mode in [.default, .common, "fourth"] {
          try loop.enqueue(in: mode, "fifth") { withExtendedLifetime((loop, token, items)) {} }
        }
        RunLoop.Scope.deferred { withExtendedLifetime((loop, items)) {} }
        RunLoop.Scope.autorelease(loop)
      }
      XCTAssertEqual(weak.value.compactMap { $0.object.map { "\($0)" } }, [])
    }
  }

  /// The host's preparation has found the event, and no pass has served it.
  func test_RLK_LEAK_1_anEventThatAHostHasFoundHoldsNoSource() {
    let (weak, counter) = (Box<[Weak]>([]), EventCounter())
    counter.add()
    onThread {
      let source = try RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in XCTFail("it was served") }
      weak.value = [Weak(source)]
      try RunLoop.current.add(source)
      XCTAssertTrue(try RunLoop.current.prepareToWait())
    }
    XCTAssertEqual(weak.value.compactMap { $0.object.map { "\($0)" } }, [])
  }

  func test_RLK_LEAK_2_removedAndInvalidatedItemsAreFreedWhileTheLoopLives() {
    onThread {
      let (loop, counter) = (RunLoop.current, EventCounter())
      for isInvalidated in [false, true] {
        var weak: [Weak] = []
        do {
          let token = Token()
          let items = try self.makeItems(counter, holding: [token])
          weak = items.map { Weak($0) } + [Weak(token)]
          for item in items {
            try loop.add(item, to: .common)
            try loop.add(item, to: "other")
          }
          try loop.run(in: "other", for: .zero)
          for item in items {
            if isInvalidated {
              item.invalidate()
            } else {
              loop.remove(item, from: .common)
              loop.remove(item, from: "other")
            }
          }
        }
        XCTAssertEqual(weak.compactMap { $0.object.map { "\($0)" } }, [])
      }
      XCTAssertTrue(loop.isEmpty(in: .default))
      XCTAssertTrue(loop.isEmpty(in: "other"))
    }
  }

  /// Also one that the loop compares with others.
  func test_RLK_LEAK_2_aSourceWithAnIdentityIsFreed() {
    onThread {
      let loop = RunLoop.current
      for modes in [["other"], [.common], [.common, "other"], ["other", .default]] as [[RunLoop.Mode]] {
        for isInvalidated in [false, true] {
          weak var left: RunLoop.Source?
          do {
            var hooks = RunLoop.Source.Hooks()
            hooks.identity = "the same"
            let source = RunLoop.Source(hooks: hooks) { _ in }
            left = source
            for mode in modes { XCTAssertTrue(try loop.add(source, to: mode)) }
            if isInvalidated { source.invalidate() }
            for mode in modes where !isInvalidated { XCTAssertTrue(loop.remove(source, from: mode)) }
          }
          XCTAssertNil(left, "\(modes), \(isInvalidated)")
        }
      }
    }
  }

  func test_RLK_LEAK_7_aTimerThatHasFiredIsFreedBeforeTheNextOfThePassFires() {
    func isFreed(_ body: @escaping @Sendable (RunLoop.Timer) -> Void, line: UInt = #line) {
      onThread {
        let (loop, due, first, wasFreed) = (RunLoop.current, RunLoop.Instant.now, Box<Weak?>(nil), Box(false))
        func addFirst() throws {
          let timer = RunLoop.Timer(fireDate: due, body)
          first.value = Weak(timer)
          try loop.add(timer)
        }
        try addFirst()
        try loop.add(RunLoop.Timer(fireDate: due) { _ in wasFreed.value = first.value?.object == nil })
        try loop.run(for: .zero)
        XCTAssertTrue(wasFreed.value, line: line)
      }
    }
    isFreed { _ in }
    isFreed { $0.invalidate() }
    isFreed { timer in TestThread { timer.invalidate() }.join() }
  }

  func test_RLK_LEAK_3_anItemThatInvalidatesItselfInItsCalloutIsFreed() {
    onThread {
      let (loop, counter, pipe, calls) = (RunLoop.current, EventCounter(), Pipe(), Box(0))
      defer { pipe.closeBoth() }
      var weak: [Weak] = []
      do {
        let token = Token()
        @Sendable func end(_ item: RunLoop.Item) {
          item.invalidate()
          calls.value += 1
          withExtendedLifetime(token) {}
        }
        let source = RunLoop.Source { end($0) }
        let items: [RunLoop.Item] = [
          source, RunLoop.Timer(fireDate: .now, interval: .nanoseconds(1)) { end($0) },
          RunLoop.Observer(.entry) { observer, _ in end(observer) },
          try RunLoop.PortSource(fileDescriptor: counter.descriptor) { end($0) },
          try RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { source, _ in end(source)
          },
        ]
        weak = items.map { Weak($0) } + [Weak(token)]
        for item in items { try loop.add(item, to: .common) }
        source.signal()
      }
      counter.add()
      pipe.send("x")
      for _ in 0..<20 where calls.value < 5 { try loop.run(for: .zero) }
      XCTAssertEqual(calls.value, 5)
      XCTAssertEqual(weak.compactMap { $0.object.map { "\($0)" } }, [])
    }
  }

  func test_RLK_LEAK_4_whatAnEndedLoopRefusesIsFreed() {
    let (ended, counter) = (Box<RunLoop?>(nil), EventCounter())
    onThread { ended.value = RunLoop.current }
    var weak: [Weak] = []
    do {
      let token = Token()
      let items = (try? makeItems(counter, holding: [token])) ?? []
      weak = items.map { Weak($0) } + [Weak(ended.value!), Weak(token)]
      for item in items { XCTAssertThrowsError(try ended.value!.add(item, to: .common)) }
      XCTAssertThrowsError(try ended.value!.perform { withExtendedLifetime(token) {} })
      ended.value = nil
    }
    XCTAssertEqual(weak.compactMap { $0.object.map { "\($0)" } }, [])
  }

  /// For want of descriptors, of watches or of memory: each kind of item, at each call that the loop needs for it.
  func test_RLK_LEAK_4_whatALivingLoopRefusesIsFreed() {
    CountingKernel.install()
    defer { Kernel.leave() }
    let refused = Box(0)
    for index in 0...6 { for call in 0...6 { refuse(index, atCall: call, refused) } }
    XCTAssertGreaterThanOrEqual(refused.value, 12)
  }

  /// The first one owns its descriptor. Call 0 is that for memory.
  private func refuse(_ index: Int, atCall call: Int, _ refused: Box<Int>) {
    onThread {
      let (loop, counter, pipe) = (RunLoop.current, EventCounter(), Pipe())
      var weak: [Weak] = []
      do {
        let token = Token()
        let owning = try RunLoop.FileDescriptorSource(
          fileDescriptor: pipe.reading, interest: .readable, ownership: .closesWhenInvalidated
        ) { _, _ in withExtendedLifetime(token) {} }
        let item: RunLoop.Item = try index == 0 ? owning : self.makeItems(counter, holding: [token])[index - 1]
        weak = [Weak(item), Weak(token)]
        if call == 0 { Faults.planMemory() } else { Faults.plan(call: call) }
        let error = thrown { try loop.add(item, to: .common) }
        _ = (Faults.end(), Faults.endMemory())
        XCTAssertEqual(loop.contains(item), error == nil)
        if error == nil { item.invalidate() } else { refused.value += 1 }
      }
      XCTAssertEqual(weak.compactMap { $0.object.map { "\($0)" } }, [], "call \(call)")
      XCTAssertFalse(pipe.hasReader)
      close(pipe.writing)
    }
  }

  func test_RLK_LEAK_4_whatADoorCouldNotAddIsFreed() {
    CountingKernel.install()
    defer { Kernel.leave() }
    for call in 1...4 {
      onThread {
        let (loop, pipe) = (RunLoop.current, Pipe())
        weak var token: Token?
        do {
          let made = Token()
          token = made
          Faults.plan(call: call)
          let error = thrown {
            try loop.assumeOnLoop { local in
              try local.fileDescriptorSource(
                fileDescriptor: pipe.reading, interest: .readable, ownership: .closesWhenInvalidated
              ) { _, _ in withExtendedLifetime(made) {} }
            }
          }
          XCTAssertTrue(Faults.end())
          XCTAssertNotNil(error)
        }
        XCTAssertNil(token)
        XCTAssertFalse(pipe.hasReader)
        close(pipe.writing)
      }
    }
  }

  private final class Counted: Sendable {
    static let living = Atomic<Int>(0)
    init() { Self.living.add(1, ordering: .relaxed) }
    deinit { Self.living.subtract(1, ordering: .relaxed) }
  }

  func test_RLK_LEAK_5_whatIsAddedWhileALoopEndsIsInNoModeAfterwards() {
    for round in 0..<100 {
      let (loop, isOver, ready, counter) = (Box<RunLoop?>(nil), Box(false), Gate(), EventCounter())
      let thread = TestThread {
        loop.value = RunLoop.current
        ready.open()
        _ = try? RunLoop.current.run(for: .zero)
      }
      ready.wait()
      let editors = (0..<2).map { _ in
        TestThread {
          let loop = loop.value!
          while !isOver.value {
            guard let items = try? self.makeItems(counter, holding: [Counted(), loop]) else { return }
            for item in items { _ = try? loop.add(item, to: .common) }
            let kept = Counted()
            try? loop.enqueue(in: "second", .common) { withExtendedLifetime((loop, kept)) {} }
            loop.addCommonMode(round % 2 == 0 ? "second" : "third")
            if loop.hasEnded { return }
          }
        }
      }
      thread.join()
      isOver.value = true
      for editor in editors { editor.join() }
      XCTAssertEqual(Counted.living.load(ordering: .relaxed), 0)
      weak let weakLoop = loop.value
      loop.value = nil
      XCTAssertNil(weakLoop)
    }
  }
}
