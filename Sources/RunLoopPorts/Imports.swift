import RunLoopKit

/// The peer's ports to which this process has rights, by number: one object each, so that rights to one port are equal.
struct Imports {
  private struct Entry {
    weak var port: RemotePort?
    /// Retains it though it has no other reference: a right that comes and goes with each message need not be released
    /// at the peer each time.
    var kept: RemotePort?
    let identity: ObjectIdentifier
  }

  private struct WeakAnswer {
    weak var answer: RemoteReply?
  }

  private var ports: [UInt64: Entry] = [:]
  private var answers: [UInt64: WeakAnswer] = [:]
  /// The side that has opened the connection lets go at once: it closes it when it has no right any more.
  var keeps: Bool
  private var sweepAt = Imports.fewest
  private static let fewest = 64

  init(keeps: Bool) { self.keeps = keeps }

  var isEmpty: Bool { ports.isEmpty && answers.isEmpty }
  var count: Int { ports.count + answers.count }

  /// The object for a right that has come; one more of it is counted.
  mutating func arrived(_ number: UInt64, on channel: Channel) -> RemotePort {
    if let entry = ports[number], let port = entry.kept ?? entry.port {
      port.count &+= 1
      // Found under this number a line above.
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

  /// One that was on another connection.
  mutating func insert(_ answer: RemoteReply, as number: UInt64) { answers[number] = WeakAnswer(answer: answer) }

  mutating func removeAnswer(_ number: UInt64) { answers[number] = nil }

  /// An object has gone; perhaps another one stands for the number already.
  mutating func removePort(_ number: UInt64, _ identity: ObjectIdentifier) {
    if ports[number]?.identity == identity { ports[number] = nil }
  }

  /// The port has ended: removes it and returns its object, whose release need not be reported to the peer any more.
  mutating func removeEnded(_ number: UInt64) -> RemotePort? {
    guard let entry = ports.removeValue(forKey: number) else { return nil }
    return entry.kept ?? entry.port
  }

  /// The answer is not awaited any more: removes it.
  mutating func removeEndedAnswer(_ number: UInt64) -> RemoteReply? { answers.removeValue(forKey: number)?.answer }

  /// Removes the rights that only the table references, if there are many, so that one frame releases them at the peer.
  mutating func sweep(isUrgent: Bool = false) -> [RemotePort] {
    guard keeps, isUrgent || ports.count > sweepAt else { return [] }
    var gone: [RemotePort] = []
    // Of each key once; nothing else changes the table meanwhile.
    for number in Array(ports.keys) where ports[number]!.kept != nil {
      guard isKnownUniquelyReferenced(&ports[number]!.kept) else { continue }
      gone.append(ports.removeValue(forKey: number)!.kept!)
    }
    sweepAt = max(Imports.fewest, ports.count * 2)
    return gone
  }

  /// Lets go of those that are kept, which the caller releases with no lock held.
  mutating func keepNone() -> [RemotePort] {
    keeps = false
    var released: [RemotePort] = []
    // Of its own keys; no key is added or removed.
    for number in ports.keys {
      if let kept = ports[number]!.kept.take() { released.append(kept) }
    }
    return released
  }

  /// The connection has ended.
  mutating func removeAll() -> (ports: [RemotePort], answers: [RemoteReply]) {
    defer {
      ports = [:]
      answers = [:]
    }
    return (ports.values.compactMap { $0.kept ?? $0.port }, answers.values.compactMap(\.answer))
  }

  var all: [RemotePort] { ports.values.compactMap { $0.kept ?? $0.port } }
}
