import CTestSupport
import Glibc
import RunLoopKit
import RunLoopTestSupport
import Testing

import class RunLoopKit.RunLoop

/// Ends of descriptors for tasks that wait, and of sequences: where an item is meanwhile, and what is left of it.
@Suite struct SequenceEndTests {
  enum End: CaseIterable, Sendable {
    /// The last writer has gone.
    case hangup
    /// The last reader has gone.
    case error

    var readiness: RunLoop.FileDescriptorSource.Readiness { self == .hangup ? .hangup : .error }
  }

  /// The end is an element for each task that waits, and for each that asks again.
  @Test(arguments: End.allCases) func test_RLK_STREAM_3_everyTaskHearsOfTheEndOfADescriptor(_ end: End) async throws {
    try await withLoop { loop, _ in
      var ends: [Int32] = [-1, -1]
      precondition(test_pipe(&ends) == 0)
      if end == .error { ends.swapAt(0, 1) }
      defer { close(ends[0]) }
      let readiness = try loop.readiness(of: ends[0], for: end == .hangup ? .readable : [])
      let other = RunLoop.Thread(name: "tasks")
      try await other.start()
      let executor = try #require(other.loop?.executor)  // runs them one after the other, up to their waits
      let waiting = Box(0)
      let tasks = (0..<3).map { _ in
        Task(executorPreference: executor) {
          var iterator = readiness.makeAsyncIterator()
          waiting.update { $0 += 1 }
          let first = try await iterator.next()
          return [first, try await iterator.next()]
        }
      }
      await yieldUntil(waiting.value == 3 && members(loop) == 1)
      close(ends[1])
      for task in tasks { #expect(try await task.value == [end.readiness, end.readiness]) }
      #expect(members(loop) == 0)
      other.stop()
      try await other.join()
    }
  }

  /// Of a sequence of one item: whether it and what serves it are still there.
  private final class Remains: Sendable {
    private let feed = Box<Weak?>(nil)
    private let item = Box<RunLoop.Item?>(nil)

    private struct Weak { weak var feed: EventFeed<Int>? }

    func sequence(of loop: RunLoop, keepingNewest kept: Int? = nil) throws -> RunLoop.EventSequence<Int> {
      try RunLoop.EventSequence(of: loop, in: .default, keepingNewest: kept) { feed in
        self.feed.value = Weak(feed: feed)
        let turn = feed.makeTurn()
        let timer = RunLoop.Timer(fireDate: .now, interval: .seconds(1000)) { _ in turn.deliver(1) }
        self.item.value = timer
        feed.append(timer)
      }
    }

    var isItemValid: Bool { item.value?.isValid ?? false }
    var isThere: Bool { feed.value?.feed != nil }
  }

  /// Nothing of it stays in the loop, which lives on: neither the item nor what watches for the loop's end.
  @Test(arguments: [nil, 3]) func test_RLK_STREAM_5_aReleasedSequenceLeavesNothing(kept: Int?) async throws {
    try await withLoop { loop, _ in
      let (unused, used, cancelled) = (Remains(), Remains(), Remains())
      _ = try unused.sequence(of: loop, keepingNewest: kept)
      let element = try await used.sequence(of: loop, keepingNewest: kept).first { _ in true }
      #expect(element == 1)
      let task = Task { for try await _ in try cancelled.sequence(of: loop, keepingNewest: kept) {} }
      task.cancel()
      _ = await task.result
      // The last callout may not be over.
      for remains in [unused, used, cancelled] { await yieldUntil(!remains.isItemValid && !remains.isThere) }
    }
  }

  /// By the processor's time of this thread: twenty times as many cost no more each. The last one ends the sequence.
  @Test func anItemsEndCostsTheSameAmongManyOthers() async throws {
    try await withLoop { loop, _ in
      func cost(of count: Int) async throws -> Double {
        let items = Box<[RunLoop.Item]>([])
        let sequence = RunLoop.EventSequence<Int>(of: loop, in: .default) { feed in
          for _ in 0..<count {
            let turn = feed.makeTurn()
            turn.finish()
            let source = RunLoop.Source { _ in withExtendedLifetime(turn) {} }
            items.update { $0.append(source) }
            feed.append(source)
          }
        }
        let task = Task { for try await _ in sequence {} }
        await yieldUntil(items.value.allSatisfy { loop.contains($0, in: .default) })
        let cost = Self.time { for item in items.value { item.invalidate() } } / Double(count)
        try await task.value
        return cost
      }
      _ = try await cost(of: 300)
      let few = min(try await cost(of: 300), try await cost(of: 300))
      #expect(try await cost(of: 6000) < 4 * few)
    }
  }

  /// What `body` takes of this thread's time on a processor.
  private static func time(_ body: () -> Void) -> Double {
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    let start = now()
    body()
    return now() - start
  }

  @Test func test_RLK_STREAM_5_anOwnedDescriptorIsClosedWithTheSequence() async throws {
    try await withLoop { loop, _ in
      let (owned, borrowed) = (Pipe(), Pipe())
      for (pipe, ownership) in [(owned, .closesWhenInvalidated), (borrowed, .borrowed)]
        as [(Pipe, RunLoop.FileDescriptorSource.Ownership)]
      {
        pipe.send("x")
        let ready = try await loop.readiness(of: pipe.reading, ownership: ownership).first { _ in true }
        #expect(ready == .readable)
      }
      await yieldUntil(!owned.hasReader)
      #expect(borrowed.hasReader)
      close(owned.writing)
      borrowed.closeBoth()
    }
  }

  /// A sequence is of its mode alone.
  @Test func test_RLK_STREAM_2_theItemsAreInTheirMode() async throws {
    try await withLoop { loop, _ in
      let (pipe, mode) = (BytePipe(), "another" as RunLoop.Mode)
      let (right, messages) = loop.messages(in: mode)
      let readiness = try loop.readiness(of: pipe.writing, for: .writable, in: mode)
      let ticks = loop.clock(in: mode).ticks(every: .microseconds(1))
      let activities = try loop.activities(.exit, in: mode)
      try right.trySend(RunLoop.Message(id: 9))
      let seen = Box<[String]>([])
      let tasks = [
        Task {
          let message = try await messages.first { _ in true }
          seen.update { $0.append("message \(message?.id ?? 0)") }
        },
        Task {
          let ready = try await readiness.first { _ in true }
          seen.update { $0.append("\(ready ?? [])") }
        },
        Task {
          let tick = try await ticks.first { _ in true }
          seen.update { $0.append(tick == nil ? "no tick" : "tick") }
        },
        Task {
          let activity = try await activities.first { _ in true }
          seen.update { $0.append(activity == .exit ? "exit" : "no exit") }
        },
      ]
      await yieldUntil(loop.items(in: mode).count == 4)
      #expect(members(loop) == 0)
      for _ in 0..<10 { try await loop.performAndWait {} }  // passes of the thread's own mode
      #expect(seen.value == [])
      while seen.value.count < 4 {
        try await loop.performAndWait { _ = try? loop.run(in: mode, for: .zero) }
      }
      for task in tasks { try await task.value }
      #expect(seen.value.sorted() == ["exit", "message 9", "tick", "writable"])
      #expect(loop.items(in: mode).allSatisfy { $0 is RunLoop.Observer })  // which is there until its sequence goes
    }
  }
}
