/// Accounts for what a message makes this process hold for a peer. The mailbox releases it when the message leaves the
/// queue.
package typealias MessageCharge = AnyObject & Sendable

/// The charges of a queue's messages, in order. A message may have none.
struct QueuedCharges: ~Copyable {
  private var charges = Row<(place: Int, charge: any MessageCharge)>()
  /// How many messages have left the queue while it had charges.
  private var taken = 0

  var isEmpty: Bool { charges.isEmpty }

  /// Appends the charge of a message that has `count` messages before it in the queue.
  mutating func append(_ charge: any MessageCharge, behind count: Int) { charges.append((taken + count, charge)) }

  /// Call it when a message was taken. Returns the message's charge, if it had one.
  @inline(never)
  mutating func removeFirst() -> (any MessageCharge)? {
    defer { taken += 1 }
    guard charges[0].place == taken, let first = charges.takeFirst() else { return nil }
    charges.trim()
    return first.charge
  }
}
