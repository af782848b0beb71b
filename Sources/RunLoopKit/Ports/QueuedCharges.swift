/// What a message makes this process hold for a peer, until the message is taken.
package typealias MessageCharge = AnyObject & Sendable

/// Charges for some of the messages in a queue, in their order.
struct QueuedCharges: ~Copyable {
  private var charges = Row<(place: Int, charge: any MessageCharge)>()
  /// Messages that were taken while there were charges.
  private var taken = 0

  var isEmpty: Bool { charges.isEmpty }

  /// Of the message that comes behind so many.
  mutating func append(_ charge: any MessageCharge, behind count: Int) { charges.append((taken + count, charge)) }

  /// A message has been taken: its charge, if it had one.
  @inline(never)
  mutating func removeFirst() -> (any MessageCharge)? {
    defer { taken += 1 }
    guard charges[0].place == taken, let first = charges.takeFirst() else { return nil }
    charges.trim()
    return first.charge
  }
}
