internal import Synchronization

/// Which sources count as one (rule 28): those that do have one number, for as long as any of them is there.
///
/// An identity's `==` is user code. It is called before a source is first added, removed or looked for, with no lock
/// held; from then on the number is compared, also under a loop's lock.
final class SourceIdentities: ProcessWideObject {
  private let lock = Lock()
  var forkGeneration: UInt32 { lock.forkGeneration }
  /// By the hash of identity and order.
  private nonisolated(unsafe) var entries: [Int: [Entry]] = [:]

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
    table.current(SourceIdentities.init).number(of: new, hash: hash)
  }

  private func number(of new: Entry, hash: Int) -> UInt {
    var new = new
    /// By their numbers: the first one of each number that was there.
    var compared: [UInt: Bool] = [:]
    while let other = lock.withLock({ enter(&new, hash, compared) }) { compared[other.number] = other.equals(new) }
    return new.number
  }

  /// Under the lock: gives it a number and enters it; or answers one that is to be compared with it before.
  private func enter(_ new: inout Entry, _ hash: Int, _ compared: [UInt: Bool]) -> Entry? {
    let likely = entries[hash] ?? []
    if let own = likely.first(where: { $0.owner == new.owner }) {  // another thread has entered it meanwhile
      new.number = own.number
      return nil
    }
    if let equal = likely.first(where: { compared[$0.number] == true }) {
      new.number = equal.number
    } else if let unknown = likely.first(where: { compared[$0.number] == nil }) {
      return unknown
    } else {
      new.number = Self.lastNumber.wrappingAdd(2, ordering: .relaxed).newValue
    }
    entries[hash, default: []].append(new)
    return nil
  }

  /// The source is gone, and its identity with it: no number keeps that.
  static func forget(_ owner: ObjectIdentifier, hash: Int) {
    guard let table = table.existing else { return }
    let gone = table.lock.withLock { table.remove(owner, hash) }
    withExtendedLifetime(gone) {}
  }

  private func remove(_ owner: ObjectIdentifier, _ hash: Int) -> Entry? {
    guard let index = entries[hash]?.firstIndex(where: { $0.owner == owner }) else { return nil }
    let gone = entries[hash]?.remove(at: index)
    if entries[hash]?.isEmpty == true { entries[hash] = nil }
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

  /// Finds out which sources count as it, which is user code: with no lock held.
  @inline(__always)
  final func learnEquals() { if let source = withIdentity { _ = source.identityNumber } }

  /// The same number for items that count as one. They are known (`learnEquals`).
  final var equality: UInt { withIdentity?.identityNumber ?? UInt(bitPattern: ObjectIdentifier(self)) }
}
