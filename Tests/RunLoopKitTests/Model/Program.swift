import RunLoopKit

import class RunLoopKit.RunLoop

/// What a random program may do to a loop. Items and descriptors are given by their numbers.
enum Action: Sendable {
  case add(Int, RunLoop.Mode)
  case remove(Int, RunLoop.Mode)
  case contains(Int, RunLoop.Mode)
  case invalidate(Int)
  /// Puts a new item of the same kind in the place of one that is let go, a member or not.
  case renew(Int)
  case addCommonMode(RunLoop.Mode)
  case signal(Int)
  case post(descriptor: Int)
  case drain(descriptor: Int)
  case fireNow(Int)
  case fireNever(Int)
  case enqueue([RunLoop.Mode])
  case run(RunLoop.Mode, returnAfterSourceHandled: Bool)
  case stop
  case wake
  case isEmpty(RunLoop.Mode)
  case isCommonMode(RunLoop.Mode)
  case modes
}

/// The kinds of items that programs use; an item's number is its place in `all`.
enum ItemKind: Sendable {
  case source(order: Int, group: Int?)
  case observer(RunLoop.Activity, order: Int, repeats: Bool)
  case timer(repeats: Bool)
  case port(descriptor: Int)

  static let descriptors = 2

  static let all: [ItemKind] = [
    .source(order: 0, group: 7), .source(order: 0, group: 7), .source(order: 1, group: 7),
    .source(order: -1, group: nil), .source(order: 0, group: nil),
    .observer(.all, order: 0, repeats: true), .observer([.entry, .beforeSources, .exit], order: -1, repeats: true),
    .observer([.beforeTimers, .exit], order: 0, repeats: false),
    .timer(repeats: false), .timer(repeats: true), .timer(repeats: true),
    .port(descriptor: 0), .port(descriptor: 0), .port(descriptor: 1),
  ]

  static func numbers(where isWanted: (ItemKind) -> Bool) -> [Int] { all.indices.filter { isWanted(all[$0]) } }

  static let sources = numbers { if case .source = $0 { true } else { false } }
  static let timers = numbers { if case .timer = $0 { true } else { false } }
}

/// Something that programs are run on: the loop, or the model of it.
protocol Subject: AnyObject {
  /// Carries out the action; the answer as text.
  func perform(_ action: Action) -> String
}

/// Runs one program. On the model it is made up as it goes; on the loop it is repeated. Every callout runs a part of it.
final class Program: @unchecked Sendable {
  private static let deepest = 3

  private var random: RandomNumbers
  private let model: ReferenceLoop?
  /// Nil ends the part of a callout.
  private(set) var actions: [Action?]
  private(set) var trace: [String] = []
  private var next = 0
  private var depth = 0
  weak var subject: (any Subject)?

  /// Makes the program up; `model` is the subject.
  init(seed: UInt64, model: ReferenceLoop) {
    (random, self.model, actions) = (RandomNumbers(seed: seed), model, [])
  }

  init(repeating actions: [Action?]) {
    (random, model, self.actions) = (RandomNumbers(seed: 1), nil, actions)
  }

  func run(steps: Int) {
    for _ in 0..<steps { if let action = nextAction(chance: 100) { perform(action) } }
  }

  func callOut(_ name: String) {
    trace.append("\(indent)\(name)")
    depth += 1
    while let action = nextAction(chance: depth <= Self.deepest ? 50 : 0) { perform(action) }
    depth -= 1
  }

  private var indent: String { String(repeating: "  ", count: depth) }

  private func perform(_ action: Action) {
    trace.append("\(indent)\(action)")
    let answer = subject!.perform(action)
    trace.append("\(indent)-> \(answer)")
  }

  private func nextAction(chance: Int) -> Action? {
    guard let model else {
      defer { next += 1 }
      return next < actions.count ? actions[next] : nil
    }
    let action = random.next(100) < chance ? random.action(model, canRun: depth < Self.deepest) : nil
    actions.append(action)
    return action
  }
}

private struct RandomNumbers {
  private static let names: [RunLoop.Mode] = [.default, .default, .default, "a", "a", "b", "c"]

  private var state: UInt64
  /// Programs with ports and such with timers: never both ready, since which one comes first is the kernel's affair.
  private let hasPorts: Bool
  /// What is removed is often added again at once: nobody may take it for the member that it was.
  private var following: Action?

  init(seed: UInt64) {
    state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    hasPorts = seed % 3 == 0
  }

  mutating func next(_ bound: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int((state >> 11) % UInt64(bound))
  }

  private mutating func element<T>(_ all: [T]) -> T { all[next(all.count)] }

  private mutating func place() -> RunLoop.Mode { next(3) == 0 ? .common : element(Self.names) }

  mutating func action(_ model: ReferenceLoop, canRun: Bool) -> Action {
    if let action = following.take() { return action }
    let item = next(ItemKind.all.count)
    switch next(26) {
    case 0...3: return .add(item, place())
    case 4, 5:
      let place = place()
      if next(3) > 0 { following = .add(item, next(2) == 0 ? place : self.place()) }
      return .remove(item, place)
    case 6: return .contains(item, place())
    case 7: return model.isValid(item) && next(3) > 0 ? .invalidate(item) : .renew(element(model.invalidItems + [item]))
    case 8: return .addCommonMode(element(Self.names))
    case 9...12: return .signal(element(ItemKind.sources))
    case 13...16: return readiness(model)
    case 17, 18:
      return .enqueue(next(2) == 0 ? [element(Self.names)] : [element(Self.names), .common, element(Self.names)])
    case 19: return element([.stop, .wake, .modes])
    case 20: return next(2) == 0 ? .isEmpty(element(Self.names)) : .isCommonMode(element(Self.names))
    default:
      let mode = next(20) == 0 ? RunLoop.Mode.common : element(Self.names)
      return canRun ? .run(mode, returnAfterSourceHandled: next(3) == 0) : .signal(element(ItemKind.sources))
    }
  }

  private mutating func readiness(_ model: ReferenceLoop) -> Action {
    guard hasPorts else {
      let timer = element(ItemKind.timers)
      return next(5) > 0 ? .fireNow(timer) : .fireNever(timer)
    }
    let descriptor = next(ItemKind.descriptors)
    return model.mayPost(descriptor) ? .post(descriptor: descriptor) : .drain(descriptor: descriptor)
  }
}
