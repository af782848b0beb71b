internal import Synchronization

/// Gives equal sources a common number (rule 28), for as long as one of them exists.
///
/// An identity's `==` is user code. It is called with no lock held, before a source is first added, removed or searched
/// for. After that only the numbers are compared, also under a loop's lock.
final class SourceIdentities: ProcessWideObject {
  private let lock = Lock()
  var forkGeneration: UInt32 { lock.forkGeneration }
  /// By the hash of identity and order.
  private nonisolated(unsafe) var groups: [Int: [Group]] = [:]

  /// Sources that equal each other, and their number.
  private struct Group {
    let number: UInt
    let order: Int
    /// The identity of each source, by its `HeldHooks`. It is removed when that source is destroyed.
    var members: [ObjectIdentifier: AnyHashable]
  }

  struct Entry {
    let identity: AnyHashable
    let order: Int
    /// The `HeldHooks` with this identity.
    let owner: ObjectIdentifier
    /// Odd, and so never the address of an item. The address is the number of an item without an identity.
    var number: UInt = 0

    func equals(_ other: Entry) -> Bool {
      var areEqual = false
      if order == other.order { __RUNLOOPKIT_IS_COMPARING_SOURCES__(identity, other.identity, &areEqual) }
      return areEqual
    }
  }

  private static let table = ProcessWide<SourceIdentities>()
  private static let lastNumber = Atomic<UInt>(1)

  /// Keeps an identity until `forget`. Returns the number of its equals, or a new number if there are none. Called with
  /// no lock held.
  static func number(of new: Entry, hash: Int) -> UInt {
    while true {
      if let number = table.current(SourceIdentities.init).number(of: new, hash: hash) { return number }
    }
  }

  /// Returns nil if a comparison has forked and this is the child, which has another table.
  private func number(of new: Entry, hash: Int) -> UInt? {
    var new = new
    /// Whether a group equals the new identity, by the group's number; nil if they were not compared yet.
    var compared: [UInt: Bool] = [:]
    while let other = lock.withLock({ enter(&new, hash, compared) }) {
      compared[other.number] = other.equals(new)
      guard forkGeneration == Kernel.forkGeneration else { return nil }
    }
    return new.number
  }

  /// Gives the new entry a number and enters it, or returns an entry with which it must be compared first. Under the
  /// lock.
  private func enter(_ new: inout Entry, _ hash: Int, _ compared: [UInt: Bool]) -> Entry? {
    if let other = choose(&new, groups[hash] ?? [], compared) { return other }
    insert(new, hash)
    return nil
  }

  /// Gives the new entry its number, from the groups of the same hash, or returns an entry with which it must be
  /// compared first.
  private func choose(_ new: inout Entry, _ likely: [Group], _ compared: [UInt: Bool]) -> Entry? {
    if let own = likely.first(where: { $0.members[new.owner] != nil }) {  // another thread has entered it meanwhile
      new.number = own.number
      return nil
    }
    if let equal = likely.first(where: { compared[$0.number] == true }) {
      new.number = equal.number
    } else if let unknown = likely.first(where: { compared[$0.number] == nil }), let member = unknown.members.first {
      return Entry(identity: member.value, order: unknown.order, owner: member.key, number: unknown.number)
    } else {
      new.number = Self.lastNumber.wrappingAdd(2, ordering: .relaxed).newValue
    }
    return nil
  }

  private func insert(_ new: Entry, _ hash: Int) {
    if let index = groups[hash]?.firstIndex(where: { $0.number == new.number }) {
      groups[hash]![index].members[new.owner] = new.identity
    } else {
      groups[hash, default: []].append(
        Group(number: new.number, order: new.order, members: [new.owner: new.identity]))
    }
  }

  /// Called when a source is destroyed. Releases its identity, without the lock.
  static func forget(_ owner: ObjectIdentifier, hash: Int) {
    guard let table = table.existing else { return }
    let gone = table.lock.withLock { table.remove(owner, hash) }
    withExtendedLifetime(gone) {}
  }

  private func remove(_ owner: ObjectIdentifier, _ hash: Int) -> AnyHashable? {
    guard let index = groups[hash]?.firstIndex(where: { $0.members[owner] != nil }) else { return nil }
    let gone = groups[hash]![index].members.removeValue(forKey: owner)
    if groups[hash]![index].members.isEmpty { groups[hash]!.remove(at: index) }
    if groups[hash]!.isEmpty { groups[hash] = nil }
    return gone
  }
}

extension RunLoop.Item {
  /// The item, if it is a source that others can equal.
  @inline(__always)
  final var withIdentity: RunLoop.Source? {
    guard kind == .source else { return nil }
    let source = asSource
    return source.hasIdentity ? source : nil
  }

  /// A number that equal items share. Call `RunLoop.learnsEquals(of:)` before.
  final var equality: UInt { withIdentity?.identityNumber ?? UInt(bitPattern: ObjectIdentifier(self)) }
}

extension RunLoop {
  /// Finds out which sources equal the item. Called with no lock held, since it calls user code. Returns false in a
  /// child of fork(2) that the user code has made.
  @inline(__always)
  func learnsEquals(of item: Item) -> Bool {
    guard let source = item.withIdentity else { return true }
    _ = source.identityNumber
    return isInThisProcess
  }
}
