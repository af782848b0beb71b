/// The delayed performs of a loop that wait for their dates. Guarded by the loop's lock.
struct DelayedPerforms {
  /// By target, then by identity; those without a target under one key.
  private var all: [Key: [ObjectIdentifier: RunLoop.DelayedPerform]] = [:]

  private struct Key: Hashable {
    let target: ObjectIdentifier?
  }

  mutating func insert(_ performed: RunLoop.DelayedPerform, target: ObjectIdentifier?) {
    all[Key(target: target), default: [:]][ObjectIdentifier(performed)] = performed
  }

  mutating func remove(_ performed: RunLoop.DelayedPerform, target: ObjectIdentifier?) {
    let key = Key(target: target)
    all[key]?[ObjectIdentifier(performed)] = nil
    if all[key]?.isEmpty == true { all[key] = nil }
  }

  func all(of target: ObjectIdentifier) -> [RunLoop.DelayedPerform] {
    all[Key(target: target)].map { Array($0.values) } ?? []
  }

  mutating func takeAll() -> [RunLoop.DelayedPerform] {
    defer { all = [:] }
    return all.values.flatMap(\.values)
  }
}
