internal import Synchronization

/// Which sources count as one (rule 28): those that do have one number, for as long as any of them is there.
///
/// An identity's `==` is user code. It is called before a source is first added, removed or looked for, with no lock
/// held; from then on the number is compared, also under a loop's lock.
final class SourceIdentities: ProcessWideObject {
  private let lock = Lock()
  var forkGeneration: UInt32 { lock.forkGeneration }
  /// By the hash of identity and order.
  private nonisolated(unsafe) var groups: [Int: [Group]] = [:]

  /// Sources that equal each other.
  private struct Group {
    let number: UInt
    let order: Int
    /// The identity of each source, which goes with that source: no group keeps it longer.
    var members: [ObjectIdentifier: AnyHashable]
  }

  struct Entry {
    let identity: AnyHashable
    let order: Int
    /// Whose identity it is.
    let owner: ObjectIdentifier
    /// Odd: never the address of an item, by which one without an identity is known.
    var number: UInt = 0

    func equals(_ other: Entry) -> Bool {
      var areEqual = false
      if order == other.order { __RUNLOOPKIT_IS_COMPARING_SOURCES__(identity, other.identity, &areEqual) }
      return areEqual
    }
  }

  private static let table = ProcessWide<SourceIdentities>()
  private static let lastNumber = Atomic<UInt>(1)

  /// The number of those that equal it; a new one if there are none. It stays until `forget`. With no lock held.
  static func number(of new: Entry, hash: Int) -> UInt {
    while true {
      if let number = table.current(SourceIdentities.init).number(of: new, hash: hash) { return number }
    }
  }

  /// Nil in the child of a comparison that has forked: the table there is another one.
  private func number(of new: Entry, hash: Int) -> UInt? {
    var new = new
    /// By the groups' numbers.
    var compared: [UInt: Bool] = [:]
    while let other = lock.withLock({ enter(&new, hash, compared) }) {
      compared[other.number] = other.equals(new)
      guard forkGeneration == Kernel.forkGeneration else { return nil }
    }
    return new.number
  }

  /// Under the lock: gives it a number and enters it; or answers one that is to be compared with it before.
  private func enter(_ new: inout Entry, _ hash: Int, _ compared: [UInt: Bool]) -> Entry? {
    if let other = choose(&new, groups[hash] ?? [], compared) { return other }
    insert(new, hash)
    return nil
  }

  /// Its number, of the groups of its hash; or one that is to be compared with it before.
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

  /// The source is gone, and its identity with it.
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
  /// Itself, if it is a source whose equality is more than identity.
  @inline(__always)
  final var withIdentity: RunLoop.Source? {
    guard kind == .source else { return nil }
    let source = unsafeDowncast(self, to: RunLoop.Source.self)  // by its kind
    return source.hasIdentity ? source : nil
  }

  /// The same number for items that count as one. They are known (`RunLoop.learnsEquals(of:)`).
  final var equality: UInt { withIdentity?.identityNumber ?? UInt(bitPattern: ObjectIdentifier(self)) }
}

extension RunLoop {
  /// Finds out which sources count as the item, which is user code: with no lock held. False in a child of fork that
  /// this code has made.
  @inline(__always)
  func learnsEquals(of item: Item) -> Bool {
    guard let source = item.withIdentity else { return true }
    _ = source.identityNumber
    return isInThisProcess
  }
}
