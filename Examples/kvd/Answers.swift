/// What goes back to a client, in order. An answer that rests on what is not on the disk yet is held back, and so is all
/// that follows it, until the commit.
struct Answers {
  /// May be sent; what lies before `sent` has been.
  private var ready: [UInt8] = []
  private var sent = 0
  private var held: [UInt8] = []
  /// The answers in `held` that become false if the commit fails.
  private var uncertain: [Range<Int>] = []

  var unsent: Int { ready.count - sent }
  var isHolding: Bool { !held.isEmpty }
  var isEmpty: Bool { unsent == 0 && !isHolding }
  var count: Int { unsent + held.count }

  mutating func append(_ word: StaticString, _ bytes: [UInt8] = [], untilCommit: Bool = false) {
    guard untilCommit || isHolding else { return Self.put(word, bytes, in: &ready) }
    let start = held.count
    Self.put(word, bytes, in: &held)
    if untilCommit { uncertain.append(start..<held.count) }
  }

  private static func put(_ word: StaticString, _ bytes: [UInt8], in buffer: inout [UInt8]) {
    word.withUTF8Buffer { buffer += $0 }
    buffer += bytes
    buffer.append(UInt8(ascii: "\n"))
  }

  /// The commit is over.
  mutating func release(isStored: Bool) {
    var rest = 0
    if !isStored {
      for range in uncertain {
        ready += held[rest..<range.lowerBound]
        Self.put("ERROR not stored", [], in: &ready)
        rest = range.upperBound
      }
    }
    ready += held[rest...]
    held.removeAll(keepingCapacity: held.capacity <= 64 << 10)
    uncertain.removeAll(keepingCapacity: uncertain.capacity <= 4 << 10)
  }

  /// Gives what may be sent to `send`, which says how much of it went.
  mutating func send(_ send: (UnsafeRawBufferPointer) -> Int) {
    sent += ready.withUnsafeBytes { send(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
    if sent == ready.count {
      ready.removeAll(keepingCapacity: ready.capacity <= 64 << 10)
      sent = 0
    } else if sent > ready.count / 2 {
      ready.removeFirst(sent)
      sent = 0
    }
  }
}
