/// The members of a mode that do not keep it from being finished. Guarded by the loop's lock.
struct BackgroundMembers {
  /// Nil rather than empty.
  private var members: Set<ObjectIdentifier>?

  @inline(__always)
  var count: Int { members?.count ?? 0 }

  /// False if it is one already.
  mutating func insert(_ item: RunLoop.Item) -> Bool {
    if members == nil { members = [] }
    return members!.insert(ObjectIdentifier(item)).inserted
  }

  /// False if it is none.
  mutating func remove(_ item: RunLoop.Item) -> Bool {
    let isGone = members?.remove(ObjectIdentifier(item)) != nil
    if members?.isEmpty == true { members = nil }
    return isGone
  }
}
