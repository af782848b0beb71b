/// The delayed performs of a loop that wait for their dates. Guarded by the loop's lock.
struct DelayedPerforms {
  /// By target, then by the perform's own identity. Performs without a target share one key.
  private var all: [Key: [ObjectIdentifier: Entry]] = [:]
  private var last: UInt64 = 0

  private struct Entry {
    /// Grows in the order of the calls.
    let number: UInt64
    let call: RunLoop.DelayedPerform
  }

  private struct Key: Hashable {
    let target: ObjectIdentifier?
  }

  mutating func insert(_ performed: RunLoop.DelayedPerform, target: ObjectIdentifier?) {
    last += 1
    all[Key(target: target), default: [:]][ObjectIdentifier(performed)] = Entry(number: last, call: performed)
  }

  mutating func remove(_ performed: RunLoop.DelayedPerform, target: ObjectIdentifier?) {
    let key = Key(target: target)
    all[key]?[ObjectIdentifier(performed)] = nil
    if all[key]?.isEmpty == true { all[key] = nil }
  }

  func all(of target: ObjectIdentifier) -> [RunLoop.DelayedPerform] {
    all[Key(target: target)].map { Self.sorted($0.values) } ?? []
  }

  mutating func takeAll() -> [RunLoop.DelayedPerform] {
    defer { all = [:] }
    return Self.sorted(all.values.flatMap(\.values))
  }

  private static func sorted(_ entries: some Sequence<Entry>) -> [RunLoop.DelayedPerform] {
    entries.sorted { $0.number < $1.number }.map(\.call)
  }
}
