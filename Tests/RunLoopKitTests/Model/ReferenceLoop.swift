import RunLoopKit

import class RunLoopKit.RunLoop

/// The model: the rules as plainly as they can be said, for one thread and for runs that poll. No kernel, no clock: time is a
/// number that grows with each change.
final class ReferenceLoop: Subject {
  final class Item {
    let name: String
    let kind: ItemKind
    var isValid = true
    var isFiring = false
    /// When it was signalled first; 0: it is not.
    var signalled = 0
    /// A timer's date, if it has come.
    var date: Int?

    init(_ name: String, _ kind: ItemKind) { (self.name, self.kind) = (name, kind) }

    var order: Int {
      switch kind {
      case .source(let order, _), .observer(_, let order, _): order
      default: 0
      }
    }

    var isSource: Bool { if case .source = kind { true } else { false } }
    var isTimer: Bool { if case .timer = kind { true } else { false } }
    var isObserver: Bool { if case .observer = kind { true } else { false } }

    /// Itself, or an equal source.
    func counts(as other: Item) -> Bool {
      if self === other { return true }
      guard case .source(let order, let group?) = kind, case .source(let otherOrder, let otherGroup?) = other.kind
      else { return false }
      return order == otherOrder && group == otherGroup
    }
  }

  struct Member {
    let item: Item
    let stamp: Int
  }

  final class Mode {
    let name: RunLoop.Mode
    var isCommon: Bool
    var members: [Member] = []

    init(_ name: RunLoop.Mode, isCommon: Bool) { (self.name, self.isCommon) = (name, isCommon) }

    func contains(_ member: Member) -> Bool {
      members.contains { $0.item === member.item && $0.stamp == member.stamp }
    }
  }

  struct Block {
    let name: String
    let modes: [RunLoop.Mode]
  }

  var program: Program?
  var modes = [Mode(.default, isCommon: true)]
  private var items: [Item]
  private var generation = 0
  private var commonNames: Set<RunLoop.Mode> = []
  private var record: [Member] = []
  private var posted: Set<Int> = []
  private var lastStamp = 0
  private var lastBlock = 0
  private var stops: [Bool] = []
  var blocks: [Block] = []

  init() { items = ItemKind.all.enumerated().map { Item("item \($0.offset)", $0.element) } }

  func callOut(_ name: String) { program!.callOut(name) }

  func stamp() -> Int {
    lastStamp += 1
    return lastStamp
  }

  func mode(_ name: RunLoop.Mode) -> Mode? { modes.first { $0.name == name } }

  // MARK: For who makes the program up

  func isValid(_ item: Int) -> Bool { items[item].isValid }

  var invalidItems: [Int] { items.indices.filter { !items[$0].isValid } }

  /// One at a time: several are served in the order in which the kernel was told of them.
  func mayPost(_ descriptor: Int) -> Bool { posted.isSubset(of: [descriptor]) }

  // MARK: Actions

  func perform(_ action: Action) -> String {
    switch action {
    case .add(let item, let mode): return "\(add(items[item], to: mode))"
    case .remove(let item, let mode): return "\(remove(items[item], from: mode))"
    case .contains(let item, let mode): return "\(contains(items[item], in: mode))"
    case .invalidate(let item): invalidate(items[item])
    case .renew(let item):
      generation += 1
      items[item] = Item("item \(item).\(generation)", ItemKind.all[item])
    case .addCommonMode(let mode): addCommonMode(mode)
    case .signal(let item): if items[item].isValid, items[item].signalled == 0 { items[item].signalled = stamp() }
    case .post(let descriptor): posted.insert(descriptor)
    case .drain(let descriptor): posted.remove(descriptor)
    case .fireNow(let item): if items[item].isValid { items[item].date = stamp() }
    case .fireNever(let item): if items[item].isValid { items[item].date = nil }
    case .enqueue(let names):
      for name in names { _ = make(name) }
      lastBlock += 1
      blocks.append(Block(name: "block \(lastBlock)", modes: names))
    case .run(let mode, let returnAfterSourceHandled): return run(mode, returnAfterSourceHandled)
    case .stop: if !stops.isEmpty { stops[stops.count - 1] = true }
    case .wake: break
    case .isEmpty(let name): return "\(mode(name).map { isEmpty($0) } ?? true)"
    case .isCommonMode(let name): return "\(isCommonMode(name))"
    case .modes: return "\(modes.map(\.name.rawValue).sorted())"
    }
    return "done"
  }

  // MARK: Membership

  private func make(_ name: RunLoop.Mode) -> Mode {
    if let mode = mode(name) { return mode }
    modes.append(Mode(name, isCommon: commonNames.contains(name)))
    return modes.last!
  }

  private func isCommonMode(_ name: RunLoop.Mode) -> Bool { mode(name)?.isCommon ?? commonNames.contains(name) }

  private func insert(_ item: Item, in mode: Mode) -> Bool {
    if mode.members.contains(where: { $0.item.counts(as: item) }) { return false }
    mode.members.append(Member(item: item, stamp: stamp()))
    return true
  }

  private func erase(_ item: Item, from mode: Mode) -> Bool {
    guard
      let index = mode.members.firstIndex(where: { $0.item === item })
        ?? mode.members.firstIndex(where: { $0.item.counts(as: item) })
    else { return false }
    mode.members.remove(at: index)
    return true
  }

  private func add(_ item: Item, to name: RunLoop.Mode) -> Bool {
    guard item.isValid else { return false }
    guard name == .common else { return insert(item, in: make(name)) }
    if record.contains(where: { $0.item !== item && $0.item.counts(as: item) }) { return false }
    if case .source(_, .some) = item.kind, record.contains(where: { $0.item === item }) { return false }
    let isNew = !record.contains { $0.item === item }
    if isNew { record.append(Member(item: item, stamp: stamp())) }
    for name in commonNames { _ = make(name) }
    let isAdded = modes.filter(\.isCommon).map { insert(item, in: $0) }
    return isNew || isAdded.contains(true)
  }

  private func remove(_ item: Item, from name: RunLoop.Mode) -> Bool {
    guard name == .common else { return mode(name).map { erase(item, from: $0) } ?? false }
    guard let index = record.firstIndex(where: { $0.item.counts(as: item) }) else { return false }
    record.remove(at: index)
    for mode in modes where mode.isCommon { _ = erase(item, from: mode) }
    return true
  }

  private func contains(_ item: Item, in name: RunLoop.Mode) -> Bool {
    guard name == .common else { return mode(name)?.members.contains { $0.item.counts(as: item) } ?? false }
    guard record.contains(where: { $0.item.counts(as: item) }) else { return false }
    return !item.isTimer || modes.contains { $0.members.contains { $0.item === item } }
  }

  func invalidate(_ item: Item) {
    item.isValid = false
    item.signalled = 0
    for mode in modes { mode.members.removeAll { $0.item === item } }
    record.removeAll { $0.item === item }
  }

  private func addCommonMode(_ name: RunLoop.Mode) {
    guard !isCommonMode(name) else { return }
    commonNames.insert(name)
    guard let mode = record.isEmpty ? mode(name) : make(name) else { return }
    mode.isCommon = true
    for member in record { _ = insert(member.item, in: mode) }
  }

  // MARK: Runs

  private func hasBlocks(_ mode: Mode) -> Bool { blocks.contains { matches($0, mode) } }

  func matches(_ block: Block, _ mode: Mode) -> Bool {
    block.modes.contains(mode.name) || (mode.isCommon && block.modes.contains(.common))
  }

  private func isEmpty(_ mode: Mode) -> Bool { mode.members.allSatisfy(\.item.isObserver) && !hasBlocks(mode) }

  private func run(_ name: RunLoop.Mode, _ returnAfterSourceHandled: Bool) -> String {
    guard name != .common, let mode = mode(name), !isEmpty(mode) else { return "finished" }
    stops.append(false)
    notify(mode, .entry)
    let isStopped = stops.last!
    let hasHandled = isStopped ? false : pass(mode, returnAfterSourceHandled)
    notify(mode, .exit)
    stops.removeLast()
    return isStopped ? "stopped" : hasHandled && returnAfterSourceHandled ? "handledSource" : "timedOut"
  }

  /// The descriptor that is ready in the mode, and who is called for it: of two items the later one.
  func takePort(in mode: Mode) -> Item? {
    for member in mode.members.reversed() {
      guard case .port(let descriptor) = member.item.kind, posted.contains(descriptor) else { continue }
      posted.remove(descriptor)
      return member.item
    }
    return nil
  }
}
