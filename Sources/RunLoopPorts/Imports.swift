import RunLoopKit

/// The peer's ports to which this process has rights, by number. There is one object for each port, so that its rights
/// are equal.
struct Imports {
  private struct Entry {
    weak var port: RemotePort?
    /// Retains the port even if no right refers to it. Otherwise, if each message brings a right to the port, this
    /// process would release a right at the peer after each message.
    var kept: RemotePort?
    let identity: ObjectIdentifier
  }

  private struct WeakAnswer {
    weak var answer: RemoteReply?
  }

  private var ports: [UInt64: Entry] = [:]
  private var answers: [UInt64: WeakAnswer] = [:]
  /// Whether entries get a `kept` port. False on the side that has opened the connection, because that side closes the
  /// connection when it has no right left.
  var keeps: Bool
  private var sweepAt = Imports.fewest
  private static let fewest = 64

  init(keeps: Bool) { self.keeps = keeps }

  var isEmpty: Bool { ports.isEmpty && answers.isEmpty }
  var count: Int { ports.count + answers.count }

  /// Returns the object for a right that has arrived, and counts that right.
  mutating func arrived(_ number: UInt64, on channel: Channel) -> RemotePort {
    if let entry = ports[number], let port = entry.kept ?? entry.port {
      port.count &+= 1
      if keeps, entry.kept == nil { ports[number]!.kept = port }
      return port
    }
    let port = RemotePort(channel, number: number, count: 1)
    ports[number] = Entry(port: port, kept: keeps ? port : nil, identity: ObjectIdentifier(port))
    return port
  }

  mutating func answerArrived(_ number: UInt64, on channel: Channel) -> RemoteReply {
    let answer = RemoteReply(channel, number: number)
    insert(answer, as: number)
    return answer
  }

  /// Adds an answer whose right has moved here from another connection.
  mutating func insert(_ answer: RemoteReply, as number: UInt64) { answers[number] = WeakAnswer(answer: answer) }

  mutating func removeAnswer(_ number: UInt64) { answers[number] = nil }

  /// Removes the entry of a destroyed object, unless a new object has the number already.
  mutating func removePort(_ number: UInt64, _ identity: ObjectIdentifier) {
    if ports[number]?.identity == identity { ports[number] = nil }
  }

  /// Removes a port that has ended. Returns its object, whose release must not be reported to the peer.
  mutating func removeEnded(_ number: UInt64) -> RemotePort? {
    guard let entry = ports.removeValue(forKey: number) else { return nil }
    return entry.kept ?? entry.port
  }

  /// Removes an answer that is not awaited any more.
  mutating func removeEndedAnswer(_ number: UInt64) -> RemoteReply? { answers.removeValue(forKey: number)?.answer }

  /// Removes the ports that only the table references, so that one frame can release them at the peer. Does nothing if
  /// the table is small, unless `isUrgent`.
  mutating func sweep(isUrgent: Bool = false) -> [RemotePort] {
    guard keeps, isUrgent || ports.count > sweepAt else { return [] }
    var gone: [RemotePort] = []
    // Each key is visited once, and nothing else changes the table meanwhile.
    for number in Array(ports.keys) where ports[number]!.kept != nil {
      guard isKnownUniquelyReferenced(&ports[number]!.kept) else { continue }
      gone.append(ports.removeValue(forKey: number)!.kept!)
    }
    sweepAt = max(Imports.fewest, ports.count * 2)
    return gone
  }

  /// Makes the table keep no ports. Returns those that it has kept; the caller releases them with no lock held.
  mutating func keepNone() -> [RemotePort] {
    keeps = false
    var released: [RemotePort] = []
    for number in ports.keys {
      if let kept = ports[number]!.kept.take() { released.append(kept) }
    }
    return released
  }

  /// Removes everything, because the connection is broken.
  mutating func removeAll() -> (ports: [RemotePort], answers: [RemoteReply]) {
    defer {
      ports = [:]
      answers = [:]
    }
    return (ports.values.compactMap { $0.kept ?? $0.port }, answers.values.compactMap(\.answer))
  }

  var all: [RemotePort] { ports.values.compactMap { $0.kept ?? $0.port } }
}
