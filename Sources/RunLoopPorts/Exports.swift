import RunLoopKit

/// The ports and awaited answers of this process to which a peer may send on one connection, by number. A number is
/// never used again.
struct Exports {
  enum Target {
    /// A port's mailbox, and the destination that its rights in this process name. This retains the destination,
    /// because the release of a `SequenceRight` ends its sequence.
    case port(Mailbox, any Destination)
    /// A request that awaits one answer.
    case answer(ReplyRight)

    /// The port's mailbox, or the one that is signalled when the answer has come.
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
    /// How often the right was sent. The peer reports how many of these it has dropped.
    var sent: UInt64
  }

  /// A number that no target ever gets.
  static let nobody = UInt64.max

  /// Sorted by number.
  private var entries: ContiguousArray<Entry> = []
  private var numbers: [ObjectIdentifier: UInt64] = [:]
  private var last: UInt64 = 0

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }

  /// Adds the target with number 0, to which the peer has a right from the beginning.
  mutating func insertFirst(_ target: Target) {
    entries.append(Entry(number: 0, target: target, sent: 1))
    if case .port(let mailbox, _) = target { numbers[ObjectIdentifier(mailbox)] = 0 }
  }

  /// Counts the port's right as sent once more, and returns the port's number, which is new if it had none.
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

  /// The awaited answers of tasks' requests. No loop waits for these.
  var answersOfTasks: [ReplyRight] {
    entries.compactMap { if case .answer(let right) = $0.target, right.pending.isAwaitedByTask { right } else { nil } }
  }

  /// Subtracts rights that the peer has dropped or never got. If none is left, removes the export and returns it, to be
  /// released with no lock held.
  mutating func drop(_ number: UInt64, _ count: UInt64) -> Target? {
    guard let index = index(of: number) else { return nil }
    if entries[index].sent > count {
      entries[index].sent -= count
      return nil
    }
    return remove(at: index)
  }

  mutating func remove(_ number: UInt64) -> Target? { index(of: number).map { remove(at: $0) } }

  /// Removes all exports whose messages the mailbox receives.
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

  /// The mailboxes of the ports and requests whose loops read the connection. The bell of a task's request has no loop,
  /// so it is left out.
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

  /// Searches linearly among few exports, which most connections have: that is cheaper than hashing.
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
