/// Members by the slot of their token, which the C side hands out densely: O(1) in and out.
struct MemberTable<Member: AnyObject> {
  private var slots: ContiguousArray<Member?> = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  /// The lower half of a token is its slot.
  private static func slot(_ token: UInt64) -> Int { Int(UInt32(truncatingIfNeeded: token)) }

  mutating func insert(_ member: Member, token: UInt64) {
    let slot = Self.slot(token)
    while slots.count <= slot { slots.append(nil) }
    slots[slot] = member
    count += 1
  }

  mutating func remove(token: UInt64) {
    slots[Self.slot(token)] = nil
    count -= 1
  }

  var all: [Member] { slots.compactMap { $0 } }
}
