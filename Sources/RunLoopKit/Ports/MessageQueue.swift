/// Messages in the order of their coming: a ring that grows to what a burst needs, and gives much of that back.
struct MessageQueue: ~Copyable {
  private var messages: UnsafeMutablePointer<RunLoop.Message>?
  /// A power of two, or 0.
  private var capacity = 0
  private var first = 0
  private(set) var count = 0

  private static let firstCapacity = 4
  /// Kept though the queue is empty.
  private static let mostSpare = 1024

  @inline(__always)
  mutating func append(_ message: consuming RunLoop.Message) {
    if count == capacity { grow() }
    // `grow` makes memory where there is none: the capacity was 0 then.
    (messages! + ((first + count) & (capacity - 1))).initialize(to: message)
    count += 1
  }

  @inline(__always)
  mutating func takeFirst() -> RunLoop.Message? {
    guard count > 0 else { return nil }
    // There is a message, hence memory.
    let message = (messages! + first).move()
    first = (first + 1) & (capacity - 1)
    count -= 1
    if count == 0, capacity > Self.mostSpare { giveBack() }
    return message
  }

  @inline(never)
  private mutating func grow() {
    let larger = max(Self.firstCapacity, capacity * 2)
    let moved = UnsafeMutablePointer<RunLoop.Message>.allocate(capacity: larger)
    if let messages {
      let upper = min(count, capacity - first)
      moved.moveInitialize(from: messages + first, count: upper)
      (moved + upper).moveInitialize(from: messages, count: count - upper)
      messages.deallocate()
    }
    messages = moved
    capacity = larger
    first = 0
  }

  private mutating func giveBack() {
    messages?.deallocate()
    messages = nil
    (capacity, first) = (0, 0)
  }

  deinit {
    guard let messages else { return }
    for offset in 0..<count { (messages + ((first + offset) & (capacity - 1))).deinitialize(count: 1) }
    messages.deallocate()
  }
}

/// Charges for some of the messages in a queue, in their order.
struct QueuedCharges {
  private var charges: ContiguousArray<(place: Int, charge: (any MessageCharge)?)> = []
  private var first = 0
  /// Messages that were taken since the first charge came.
  private var taken = 0

  var isEmpty: Bool { charges.isEmpty }

  /// Of the message that comes behind so many.
  mutating func append(_ charge: any MessageCharge, behind count: Int) { charges.append((taken + count, charge)) }

  /// A message has been taken: its charge, if it had one.
  @inline(never)
  mutating func take() -> (any MessageCharge)? {
    defer { taken += 1 }
    guard charges[first].place == taken else { return nil }
    let charge = charges[first].charge.take()
    first += 1
    if first == charges.count { self = QueuedCharges() }
    return charge
  }
}
