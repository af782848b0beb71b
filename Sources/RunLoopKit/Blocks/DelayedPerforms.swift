/// What runs after a delay, as its loop knows it.
protocol DelayedCall: AnyObject {
  /// The loop has ended first.
  func abandon()
}

/// The delayed performs of a loop that wait for their dates. Guarded by the loop's lock.
struct DelayedPerforms {
  /// By target, then by identity; those without a target under one key.
  private var all: [Key: [ObjectIdentifier: any DelayedCall]] = [:]

  private struct Key: Hashable {
    let target: ObjectIdentifier?
  }

  mutating func insert(_ performed: any DelayedCall, target: ObjectIdentifier?) {
    all[Key(target: target), default: [:]][ObjectIdentifier(performed)] = performed
  }

  mutating func remove(_ performed: any DelayedCall, target: ObjectIdentifier?) {
    let key = Key(target: target)
    all[key]?[ObjectIdentifier(performed)] = nil
    if all[key]?.isEmpty == true { all[key] = nil }
  }

  func all(of target: ObjectIdentifier) -> [any DelayedCall] {
    all[Key(target: target)].map { Array($0.values) } ?? []
  }

  mutating func takeAll() -> [any DelayedCall] {
    defer { all = [:] }
    return all.values.flatMap(\.values)
  }
}
