import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// The loop of this thread, as programs see it.
private final class RealLoop: Subject, @unchecked Sendable {
  private let loop = RunLoop.current
  private let counters = (0..<ItemKind.descriptors).map { _ in EventCounter() }
  private let program: Program
  private var items: [RunLoop.Item] = []
  private var generation = 0
  private var lastBlock = 0

  init(_ program: Program) throws {
    self.program = program
    for number in ItemKind.all.indices { items.append(try make("item \(number)", ItemKind.all[number])) }
  }

  private func make(_ name: String, _ kind: ItemKind) throws -> RunLoop.Item {
    let program = program
    switch kind {
    case .source(let order, let group):
      var hooks = RunLoop.Source.Hooks()
      hooks.identity = group
      return RunLoop.Source(order: order, hooks: hooks) { _ in program.callOut(name) }
    case .observer(let activities, let order, let repeats):
      return RunLoop.Observer(activities, order: order, repeats: repeats) { program.callOut("\(name) \($1)") }
    case .timer(let repeats):
      return RunLoop.Timer(fireDate: .distantFuture, interval: repeats ? .seconds(3600) : .zero) { _ in
        program.callOut(name)
      }
    case .port(let descriptor):
      return try RunLoop.PortSource(fileDescriptor: counters[descriptor].descriptor) { _ in program.callOut(name) }
    }
  }

  func perform(_ action: Action) -> String {
    do { return try answer(action) } catch { return "\(error)" }
  }

  private func answer(_ action: Action) throws -> String {
    switch action {
    case .add(let item, let mode): return "\(try loop.add(items[item], to: mode))"
    case .remove(let item, let mode): return "\(loop.remove(items[item], from: mode))"
    case .contains(let item, let mode): return "\(loop.contains(items[item], in: mode))"
    case .invalidate(let item): items[item].invalidate()
    case .renew(let item):
      generation += 1
      items[item] = try make("item \(item).\(generation)", ItemKind.all[item])
    case .addCommonMode(let mode): loop.addCommonMode(mode)
    case .signal(let item): (items[item] as! RunLoop.Source).signal()
    case .post(let descriptor): counters[descriptor].add()
    case .drain(let descriptor): counters[descriptor].drain()
    case .fireNow(let item):
      let now = RunLoop.Instant.now
      (items[item] as! RunLoop.Timer).fireDate = now
      while RunLoop.Instant.now == now {}  // no two dates are equal
    case .fireNever(let item): (items[item] as! RunLoop.Timer).fireDate = .distantFuture
    case .enqueue(let modes):
      lastBlock += 1
      let (program, name) = (program, "block \(lastBlock)")
      try loop.enqueue(in: modes) { program.callOut(name) }
    case .run(let mode, let returnAfterSourceHandled):
      return "\(try loop.run(in: mode, for: .zero, returnAfterSourceHandled: returnAfterSourceHandled))"
    case .stop: loop.stop()
    case .wake: loop.wakeUp()
    case .isEmpty(let mode): return "\(loop.isEmpty(in: mode))"
    case .isCommonMode(let mode): return "\(loop.isCommonMode(mode))"
    case .modes: return "\(loop.modes.map(\.rawValue).sorted())"
    }
    return "done"
  }

  /// Breaks the cycle of the program and the items' closures.
  func end() {
    for item in items { item.invalidate() }
    items = []
  }
}

/// Random programs, with fixed seeds, do the same to the loop as to the model of it.
final class ModelTests: XCTestCase {
  private static let steps = 150

  /// The first lines of the two traces that differ, after those that led to them.
  private func difference(_ expected: [String], _ got: [String]) -> String? {
    if expected == got { return nil }
    let index = zip(expected, got).enumerated().first { $1.0 != $1.1 }?.offset ?? min(expected.count, got.count)
    let before = expected[max(0, index - 40)..<index].joined(separator: "\n")
    func line(_ trace: [String]) -> String { index < trace.count ? trace[index] : "nothing" }
    return "\(before)\nexpected: \(line(expected))\ngot:      \(line(got))"
  }

  private func check(seed: UInt64) throws -> Int {
    let model = ReferenceLoop()
    let made = Program(seed: seed, model: model)
    (model.program, made.subject) = (made, model)
    made.run(steps: Self.steps)
    model.program = nil

    let repeated = Program(repeating: made.actions)
    let real = try RealLoop(repeated)
    repeated.subject = real
    repeated.run(steps: Self.steps)
    real.end()
    guard let difference = difference(made.trace, repeated.trace) else { return made.trace.count }
    XCTFail("seed \(seed):\n\(difference)")
    return .min
  }

  func test_RLK_MODEL_1_randomProgramsDoToTheLoopWhatTheyDoToItsModel() {
    let lines = Box(0)
    let wanted = ProcessInfo.processInfo.environment["RLK_MODEL_SEEDS"].flatMap { UInt64($0) }
    let seeds = wanted ?? (isSlow ? 40 : 200)
    for seed in 1...seeds {
      onThread { lines.value &+= try self.check(seed: seed) }
      if lines.value < 0 { return }
    }
    XCTAssertGreaterThan(lines.value, Int(seeds) * Self.steps)
  }
}
