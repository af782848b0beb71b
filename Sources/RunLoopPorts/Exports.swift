import RunLoopKit

/// What a peer may send to on one connection: ports and answers of this process, by number. Numbers are not used twice.
struct Exports {
  enum Target {
    /// With what its rights here name, which lives as long as they do.
    case port(Mailbox, any Destination)
    /// Once.
    case answer(ReplyRight)

    /// Where its messages, or the news of its coming, are waited for.
    var mailbox: Mailbox {
      switch self {
      case .port(let mailbox, _): mailbox
      case .answer(let right): right.pending.bell
      }
    }
  }

  private struct Entry {
    let number: UInt64
    let target: Target
    /// How often the right has been sent; the peer says how many it has dropped.
    var sent: UInt64
  }

  /// A number that no side ever gives to anything.
  static let nobody = UInt64.max

  /// By number.
  private var entries: ContiguousArray<Entry> = []
  private var numbers: [ObjectIdentifier: UInt64] = [:]
  private var last: UInt64 = 0

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }

  /// 0, which the peer has a right to from the beginning.
  mutating func insertFirst(_ target: Target) {
    entries.append(Entry(number: 0, target: target, sent: 1))
    if case .port(let mailbox, _) = target { numbers[ObjectIdentifier(mailbox)] = 0 }
  }

  /// The port's number, counted as sent once more; new if it had none.
  mutating func add(_ mailbox: Mailbox, _ destination: any Destination) -> (number: UInt64, isNew: Bool) {
    if let index = index(of: mailbox) {
      entries[index].sent += 1
      return (entries[index].number, false)
    }
    last += 1
    entries.append(Entry(number: last, target: .port(mailbox, destination), sent: 1))
    numbers[ObjectIdentifier(mailbox)] = last
    return (last, true)
  }

  mutating func add(_ answer: ReplyRight) -> UInt64 {
    last += 1
    entries.append(Entry(number: last, target: .answer(answer), sent: 1))
    return last
  }

  subscript(number: UInt64) -> Target? { index(of: number).map { entries[$0].target } }

  var isAwaitedByTask: Bool {
    entries.contains { if case .answer(let right) = $0.target { right.pending.isAwaitedByTask } else { false } }
  }

  /// Of requests that no loop waits for.
  var answersOfTasks: [ReplyRight] {
    entries.compactMap { if case .answer(let right) = $0.target, right.pending.isAwaitedByTask { right } else { nil } }
  }

  /// The peer has so many fewer, or never got them. What has gone by that, to be released with no lock held.
  mutating func drop(_ number: UInt64, _ count: UInt64) -> Target? {
    guard let index = index(of: number) else { return nil }
    if entries[index].sent > count {
      entries[index].sent -= count
      return nil
    }
    return remove(at: index)
  }

  mutating func remove(_ number: UInt64) -> Target? { index(of: number).map { remove(at: $0) } }

  /// All that is waited for in the mailbox: their numbers.
  mutating func removeAll(of mailbox: Mailbox) -> [(number: UInt64, target: Target)] {
    let gone = entries.filter { $0.target.mailbox === mailbox }.map { ($0.number, $0.target) }
    for (number, _) in gone { _ = remove(number) }
    return gone
  }

  mutating func removeAll() -> [Target] {
    defer {
      entries = []
      numbers = [:]
    }
    return entries.map(\.target)
  }

  func serves(_ mailbox: Mailbox) -> Bool { entries.contains { $0.target.mailbox === mailbox } }

  /// Those that may be in modes: a task's bell is in none.
  var mailboxes: [Mailbox] {
    entries.compactMap {
      if case .answer(let right) = $0.target, right.pending.isAwaitedByTask { return nil }
      return $0.target.mailbox
    }
  }

  private mutating func remove(at index: Int) -> Target {
    let entry = entries.remove(at: index)
    if case .port(let mailbox, _) = entry.target { numbers[ObjectIdentifier(mailbox)] = nil }
    return entry.target
  }

  /// Where most connections have no more than a few, these are looked through: cheaper than to hash.
  private func index(of mailbox: Mailbox) -> Int? {
    guard entries.count > 4 else {
      return entries.indices.first { if case .port(let one, _) = entries[$0].target { one === mailbox } else { false } }
    }
    return numbers[ObjectIdentifier(mailbox)].flatMap { index(of: $0) }
  }

  @inline(__always)
  private func index(of number: UInt64) -> Int? {
    if let first = entries.first, first.number == number { return 0 }
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].number < number { low = middle + 1 } else { high = middle }
    }
    return low < entries.count && entries[low].number == number ? low : nil
  }
}
