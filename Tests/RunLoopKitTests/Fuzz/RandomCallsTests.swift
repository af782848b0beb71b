import CTestSupport
import Glibc
import RunLoopKit
import RunLoopTestSupport
import Synchronization
import XCTest

import class RunLoopKit.RunLoop

/// Random calls on two loops, by two threads that drive them and by the loops' own callouts. Held: a block runs once, a date once
/// and never early, what was signalled, counted, written or sent is served, nothing is called after a removal that was answered,
/// and nothing is left behind. Two seconds; `RLK_FUZZ_SECONDS` of them in a long run. A failure names the seed, with which the
/// same calls are made again, though not the same interleaving: `RLK_FUZZ_SEED`.
final class RandomCallsTests: XCTestCase {
  func test_randomCallsByThreadsAndCallouts() {
    let seconds = Self.number("RLK_FUZZ_SECONDS") ?? 2
    let only = Self.number("RLK_FUZZ_SEED")
    let end = RunLoop.Instant.now.advanced(by: .seconds(Int64(seconds)))
    var seed = only ?? UInt64(time(nil)) * 1000
    var cases = 0
    // What the process makes on first use stays.
    _ = Case(seed: 0).run()
    let descriptors = openDescriptors()
    var failures: [String] = []
    repeat {
      seed += 1
      cases += 1
      failures = Case(seed: only ?? seed).run()
      if openDescriptors() != descriptors { failures.append("\(openDescriptors()) descriptors, \(descriptors) before") }
      for failure in failures { XCTFail("RLK_FUZZ_SEED=\(only ?? seed): \(failure)") }
    } while failures.isEmpty && RunLoop.Instant.now < end
    print("random calls: \(cases) cases, the last one is seed \(seed)")
  }

  private static func number(_ name: String) -> UInt64? { getenv(name).flatMap { UInt64(String(cString: $0)) } }
}

/// What has been asked for, and what came of it.
private final class Record: Sendable {
  let name: String
  let asked = Atomic<Int>(0)
  let served = Atomic<Int>(0)
  /// No callout may begin any more.
  let isGone = Atomic<Bool>(false)
  /// Removed: perhaps before it was served.
  let isOut = Atomic<Bool>(false)
  /// Its descriptor's owner: stays open for an `add` that meets an invalidation, which releases the closure.
  let resource = Box<AnyObject?>(nil)

  init(_ name: String, asked count: Int = 0) {
    self.name = name
    asked.store(count, ordering: .sequentiallyConsistent)
  }

  func serve(_ count: Int = 1) -> Int { served.add(count, ordering: .sequentiallyConsistent).newValue }

  var isWrong: Bool {
    let (asked, served) = (
      asked.load(ordering: .sequentiallyConsistent), served.load(ordering: .sequentiallyConsistent)
    )
    return isOut.load(ordering: .sequentiallyConsistent) ? served > asked : served != asked
  }

  var text: String {
    "\(name): asked for \(asked.load(ordering: .relaxed)), served \(served.load(ordering: .relaxed))"
  }
}

/// One loop with its thread, and what it was given.
private final class Side: Sendable {
  let thread: RunLoop.Thread
  let records = Box<[Record]>([])
  let items = Box<[(item: RunLoop.Item, record: Record)]>([])
  let mailbox: RunLoop.Port
  let messages = Record("messages")

  init(_ name: String) {
    let messages = messages
    mailbox = RunLoop.Port { _, _ in _ = messages.serve() }
    thread = RunLoop.Thread(name: name)
    records.value = [messages]
  }
}

private final class Case: Sendable {
  private static let other = RunLoop.Mode(rawValue: "other")

  private let seed: UInt64
  private let sides = [Side("left"), Side("right")]
  /// Closures that exist.
  private let closures = Box(0)
  private let failures = Box<[String]>([])
  private let depth = Box(0)
  private let moves = Box(0)  // not Void: of a value without bytes ThreadSanitizer takes the box's own for it
  private let isQuiet = Box(false)

  init(seed: UInt64) { self.seed = seed }

  func run() -> [String] {
    do {
      for side in sides {
        try side.thread.start()
        try side.thread.loop!.add(side.mailbox, to: .common)
      }
      let drivers = (0..<2).map { number in
        TestThread { [self] in
          var chance = SplitMix(seed &* 7919 &+ UInt64(number))
          for _ in 0..<60 { step(&chance, from: nil) }
        }
      }
      for driver in drivers { driver.join() }
      isQuiet.value = true
      // The first source may come in a run inside a callout, which holds back what its own pass has fetched.
      for _ in 0..<50 where sides.flatMap(\.records.value).contains(where: \.isWrong) {
        for side in sides { try drain(side) }
      }
      for record in sides.flatMap(\.records.value) where record.isWrong { fail(record.text) }
    } catch { fail("\(error)") }
    for side in sides { end(side) }
    if closures.value != 0 { fail("\(closures.value) closures are left") }
    return failures.value
  }

  private func fail(_ text: String) { failures.update { $0.append(text) } }

  /// Passes in both modes, on the loop's own thread, for longer than the last date is ahead. From a source: a block's callout holds
  /// back the blocks that were queued with it.
  private func drain(_ side: Side) throws {
    let isOver = Gate()
    let source = RunLoop.Source { _ in
      for mode in [.default, Self.other] { _ = try? RunLoop.current.run(in: mode, for: .milliseconds(2)) }
      isOver.open()
    }
    try side.thread.loop!.add(source)
    source.signal()
    side.thread.loop!.wakeUp()
    isOver.wait()
    source.invalidate()
  }

  private func end(_ side: Side) {
    for (item, _) in side.items.value { item.invalidate() }
    side.items.value = []
    side.records.value = []
    side.mailbox.invalidate()
    side.thread.stop(.now)
    do { try side.thread.join(timeout: .seconds(20)) } catch { fail("join: \(error)") }
  }

  /// What each closure captures.
  private func token() -> Token {
    closures.update { $0 += 1 }
    return Token { [closures] in closures.update { $0 -= 1 } }
  }

  private func record(_ name: String, _ side: Side, asked count: Int = 1) -> Record {
    let record = Record(name, asked: count)
    side.records.update { $0.append(record) }
    return record
  }

  // MARK: Steps

  /// `own` is the side whose callout makes the step; nil: another thread.
  private func step(_ chance: inout SplitMix, from own: Side?) {
    let side = sides[chance.below(2)]
    let loop = side.thread.loop!
    let mode: RunLoop.Mode = [.default, .default, .common, Self.other][chance.below(4)]
    do {
      switch chance.below(15) {
      case 0, 1: try block(side, loop, mode, &chance)
      case 2: try timer(side, loop, mode, &chance)
      case 3: try repeatingTimer(side, loop, mode)
      case 4: try source(side, loop, mode)
      case 5: try counter(side, loop, mode)
      case 6: try descriptor(side, loop, mode)
      case 7: remove(side, &chance, isCallout: own != nil)
      case 8: try message(side)
      case 9: loop.wakeUp()
      case 10: if own === side { try runNested(loop, mode == .common ? .default : mode, &chance) }
      case 11: loop.addCommonMode(Self.other)
      case 12: if own == nil { try wait(loop) }
      case 13: try move(side, loop, &chance)
      default: if own == nil { _ = loop.description }
      }
    } catch { fail("\(error)") }
  }

  /// A step or two from inside a callout.
  private func fromACallout(_ side: Side, _ seed: UInt64) {
    defer { depth.update { $0 -= 1 } }
    let isDeep = depth.update {
      $0 += 1
      return $0 > 4
    }
    if isDeep || isQuiet.value { return }
    var chance = SplitMix(seed)
    for _ in 0..<chance.below(3) { step(&chance, from: side) }
  }

  private func enter(_ side: Side, _ record: Record) {
    if record.isGone.load(ordering: .sequentiallyConsistent) { fail("\(record.name): called after its removal") }
    if RunLoop.current !== side.thread.loop { fail("\(record.name): on another thread") }
  }

  private func runNested(_ loop: RunLoop, _ mode: RunLoop.Mode, _ chance: inout SplitMix) throws {
    if chance.below(2) == 0 { try loop.perform(in: mode) { RunLoop.current.wakeUp() } }
    _ = try loop.run(in: mode, for: .microseconds(50), returnAfterSourceHandled: chance.below(2) == 0)
  }

  private func block(_ side: Side, _ loop: RunLoop, _ mode: RunLoop.Mode, _ chance: inout SplitMix) throws {
    let (record, token, seed) = (record("block", side), token(), chance.next())
    let body = { @Sendable [self] in
      withExtendedLifetime(token) {}
      enter(side, record)
      _ = record.serve()
      fromACallout(side, seed)
    }
    if seed & 1 == 0 { try loop.perform(in: mode, block: body) } else { try loop.enqueue(in: mode, block: body) }
    loop.wakeUp()
  }

  private func timer(_ side: Side, _ loop: RunLoop, _ mode: RunLoop.Mode, _ chance: inout SplitMix) throws {
    let (record, token, seed) = (record("timer", side), token(), chance.next())
    let date = RunLoop.Instant.now.advanced(by: .microseconds(Int64(chance.below(800)) - 100))
    let tolerance = Duration.microseconds(Int64(chance.below(2) * 300))
    let timer = RunLoop.Timer(fireDate: date, tolerance: tolerance) { [self] _ in
      withExtendedLifetime(token) {}
      enter(side, record)
      if RunLoop.Instant.now < date { fail("timer: early") }
      _ = record.serve()
      fromACallout(side, seed)
    }
    try keep(timer, record, side, loop, mode)
  }

  /// Fires three times and then is out.
  private func repeatingTimer(_ side: Side, _ loop: RunLoop, _ mode: RunLoop.Mode) throws {
    let (record, token) = (record("repeating timer", side, asked: 3), token())
    let timer = RunLoop.Timer(fireDate: .now, interval: .microseconds(200)) { [self] timer in
      withExtendedLifetime(token) {}
      enter(side, record)
      if record.serve() == 3 { timer.invalidate() }
    }
    try keep(timer, record, side, loop, mode)
  }

  private func source(_ side: Side, _ loop: RunLoop, _ mode: RunLoop.Mode) throws {
    let (record, token) = (record("source", side), token())
    let source = RunLoop.Source { [self] _ in
      withExtendedLifetime(token) {}
      enter(side, record)
      _ = record.serve()
    }
    try keep(source, record, side, loop, mode)
    source.signal()
    loop.wakeUp()
  }

  private func counter(_ side: Side, _ loop: RunLoop, _ mode: RunLoop.Mode) throws {
    let (record, token, counter) = (record("counter", side, asked: 2), token(), EventCounter(isSemaphore: true))
    record.resource.value = counter
    let source = try RunLoop.PortSource(fileDescriptor: counter.descriptor) { [self] _ in
      withExtendedLifetime((token, counter)) {}
      enter(side, record)
      _ = record.serve()
    }
    try keep(source, record, side, loop, mode)
    counter.add(2)
  }

  private func descriptor(_ side: Side, _ loop: RunLoop, _ mode: RunLoop.Mode) throws {
    let (record, token, pipe) = (record("descriptor", side, asked: 3), token(), OwnedPipe())
    record.resource.value = pipe
    let source = try RunLoop.FileDescriptorSource(
      fileDescriptor: pipe.pipe.reading, interest: .readable, ownership: .borrowed
    ) { [self] _, _ in
      withExtendedLifetime(token) {}
      enter(side, record)
      _ = record.serve(pipe.pipe.receive().utf8.count)
    }
    try keep(source, record, side, loop, mode)
    pipe.pipe.send("abc")
  }

  private func keep(
    _ item: RunLoop.Item, _ record: Record, _ side: Side, _ loop: RunLoop, _ mode: RunLoop.Mode
  ) throws {
    item.label = record.name
    side.items.update { $0.append((item, record)) }
    // Another thread may have taken it out already.
    try moves.update { _ in _ = try loop.add(item, to: mode) }
  }

  /// One of the last items, if there is one.
  private func some(_ side: Side, _ chance: inout SplitMix) -> (item: RunLoop.Item, record: Record)? {
    let items = side.items.value
    return items.isEmpty ? nil : items[items.count - 1 - chance.below(min(items.count, 6))]
  }

  /// In one of three ways. An answer means: no callout from now on.
  private func remove(_ side: Side, _ chance: inout SplitMix, isCallout: Bool) {
    guard let (item, record) = some(side, &chance) else { return }
    record.isOut.store(true, ordering: .sequentiallyConsistent)
    switch chance.below(isCallout ? 2 : 3) {
    case 0: item.invalidate()
    case 1: item.invalidate { record.isGone.store(true, ordering: .sequentiallyConsistent) }
    default:
      do {
        try item.invalidateAndWait(timeout: .seconds(20))
        record.isGone.store(true, ordering: .sequentiallyConsistent)
      } catch { fail("invalidateAndWait: \(error)") }
    }
  }

  /// Out of its modes, and into all common ones.
  private func move(_ side: Side, _ loop: RunLoop, _ chance: inout SplitMix) throws {
    guard let (item, record) = some(side, &chance) else { return }
    // The loop has read a count before it calls; out of the mode at that moment, the source is not called for it.
    if item is RunLoop.PortSource { record.isOut.store(true, ordering: .sequentiallyConsistent) }
    // One at a time: between another's two steps the item would end in no mode.
    try moves.update { _ in
      for mode in [RunLoop.Mode.common, .default, Self.other] { loop.remove(item, from: mode) }
      try loop.add(item, to: .common)
    }
  }

  private func message(_ side: Side) throws {
    side.messages.asked.add(1, ordering: .sequentiallyConsistent)
    do { try side.mailbox.sendRight.trySend(RunLoop.Message(id: 1, bytes: "text")) } catch RunLoopError.portFull {
      side.messages.asked.subtract(1, ordering: .sequentiallyConsistent)
    }
  }

  private func wait(_ loop: RunLoop) throws {
    let ran = Atomic<Int>(0)
    do {
      try loop.performAndWait(timeout: .milliseconds(5)) { _ = ran.add(1, ordering: .sequentiallyConsistent) }
      if ran.load(ordering: .sequentiallyConsistent) != 1 { fail("performAndWait: has not run") }
    } catch RunLoopError.timedOut {
      if ran.load(ordering: .sequentiallyConsistent) != 0 { fail("performAndWait: ran although it was withdrawn") }
    }
  }
}

private final class OwnedPipe: Sendable {
  let pipe = Pipe()
  deinit { pipe.closeBoth() }
}
