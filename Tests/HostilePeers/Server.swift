import Glibc
import RunLoopKit
import RunLoopPorts
import RunLoopTestSupport

typealias Port = RunLoop.Port
typealias Message = RunLoop.Message

/// What is asked of the control port.
enum Order {
  /// Lets go of all that the server keeps, and tells what is left: `Server.state`.
  static let state: UInt32 = 1
  static let end: UInt32 = 2
}

/// Answers its client in order, and does with the messages of all others what a program may do with messages.
final class Server: @unchecked Sendable {
  private let name: String
  private let client: pid_t
  // All below belong to the thread of the loop.
  private var chance: SplitMix
  private var port: Port!
  private var second: Port?
  private var kept: [Message] = []
  private var rights: [Port.SendRight] = []
  private var own: [Port] = []
  private var depth = 0
  private var served: UInt32 = 0

  init(_ name: String, client: pid_t, seed: UInt64) {
    self.name = name
    self.client = client
    chance = SplitMix(seed)
  }

  func run() throws {
    Server.takeAllDescriptors()
    let loop = RunLoop.current
    port = try Port(registeredAs: name) { [self] _, message in receive(message) }
    let control = try Port(registeredAs: "\(name).control", replying: { [self] _, message in obey(message) })
    try loop.add(port)
    try loop.add(control)
    try Server.makeTheKeeper("\(name).control")
    // So that what a mode with a port needs is there.
    let other = Port { _, _ in }
    try loop.add(other, to: "other")
    renewSecond()
    Lines.write("ready", to: 1)
    _ = try loop.run()
    port.invalidate()
    control.invalidate()
  }

  /// As many as the process may have: what peers send, and never what it needs itself, is to be short of.
  private static func takeAllDescriptors() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(limit.rlim_max, 1 << 16)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// The thread that looks for the ends of connections is made with the first that is in no mode, and stays.
  private static func makeTheKeeper(_ name: String) throws {
    let right = try Port.connect(to: name)
    right.onInvalidation {}
  }

  private func obey(_ message: Message) -> Message? {
    if message.id == Order.end { RunLoop.current.stop() }
    letGo()
    return Message(id: message.id, bytes: Message.Bytes(state))
  }

  private func letGo() {
    for port in own { port.invalidate() }
    (kept, rights, own) = ([], [], [])
    if second == nil { renewSecond() }
  }

  /// What must be as it was when all peers are gone.
  private var state: String {
    var tables: [PeerTables] = [], statistics: [RunLoop.PeerStatistics] = []
    for port in [port, second].compactMap({ $0 }) {
      tables.append(port.peerTables)
      statistics.append(port.peerStatistics)
    }
    func sum(_ numbers: [Int]) -> Int { numbers.reduce(0, +) }
    return """
      descriptors \(Server.openDescriptors) connections \(sum(tables.map(\.connections))) \
      exports \(sum(tables.map(\.exports))) imports \(sum(tables.map(\.imports))) \
      slots \(sum(statistics.map(\.connections))) introductions \(sum(statistics.map(\.introductions))) \
      rights \(sum(statistics.map(\.rights))) undelivered \(sum(statistics.map(\.undeliveredDescriptors))) \
      mapped \(sum(statistics.map(\.mappedBytes))) waiting \(port.pendingCount)
      """
  }

  private static var openDescriptors: Int {
    guard let folder = opendir("/proc/self/fd") else { return -1 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count
  }

  // MARK: Messages

  private func receive(_ message: Message) {
    if message.sender?.processID == client { return serve(message) }
    depth += 1
    defer { depth -= 1 }
    let all = message.rights + (message.reply.map { [$0] } ?? [])
    for right in all where chance.isOne(in: 3) { keep(right) }
    // A message of its own is not sent on as others are: it would never end.
    for _ in 0..<(message.sender == nil ? 1 : 1 + chance.below(3)) { act(message, all) }
  }

  /// Once, in order, and whole; the client's own port is told first.
  private func serve(_ message: Message) {
    served += 1
    guard message.id == served else {
      Lines.write("message \(message.id) of the client comes as the \(served)th", to: 2)
      exit(1)
    }
    do {
      try message.rights.first?.send(Message(id: message.id))
      try message.reply?.send(Message(id: message.id, message.components))
    } catch {
      Lines.write("message \(message.id) of the client is not answered: \(error)", to: 2)
      exit(1)
    }
  }

  private func keep(_ right: Port.SendRight) {
    if rights.count < 32 { rights.append(right) } else { rights[chance.below(32)] = right }
  }

  private var someRight: Port.SendRight? { rights.isEmpty ? nil : rights[chance.below(rights.count)] }

  private func act(_ message: Message, _ all: [Port.SendRight]) {
    let right = all.isEmpty || chance.isOne(in: 3) ? someRight : all[chance.below(all.count)]
    switch chance.below(message.sender == nil ? 6 : 14) {
    case 0: try? message.reply?.trySend(message)
    case 1: try? message.reply?.trySend(mixed(message))
    case 2: keep(message)
    case 3: sendKept(to: right)
    case 4: passReplyOn(message, to: right)
    case 5: own.isEmpty ? () : own.remove(at: chance.below(own.count)).invalidate()
    case 6, 7: try? right?.trySend(message)
    case 8: try? right?.trySend(mixed(message))
    case 9: ask(right, message)
    case 10: ask(port.sendRight, mixed(message))
    case 11: watch(right)
    case 12: if chance.isOne(in: 4) { renewSecond() } else { rights = [] }
    default: for descriptor in message.descriptors { duplicate(descriptor, to: right) }
    }
  }

  private func keep(_ message: Message) {
    if kept.count < 16 { kept.append(message) } else { kept[chance.below(16)] = message }
  }

  private func sendKept(to right: Port.SendRight?) {
    guard !kept.isEmpty, let right else { return }
    try? right.trySend(kept.remove(at: chance.below(kept.count)))
  }

  private func passReplyOn(_ message: Message, to right: Port.SendRight?) {
    guard let reply = message.reply else { return }
    try? right?.trySend(chance.isOne(in: 2) ? Message([.right(reply)]) : Message(reply: reply))
  }

  /// What came, with rights of others in it, and to ports of its own.
  private func mixed(_ message: Message) -> Message {
    var components = message.components
    for _ in 0..<chance.below(4) {
      let right = chance.isOne(in: 3) ? someRight : newPort()
      if let right { components.insert(.right(right), at: chance.below(components.count + 1)) }
    }
    return Message(id: message.id, components, reply: chance.isOne(in: 2) ? someRight : newPort())
  }

  private func newPort() -> Port.SendRight? {
    if own.count >= 8 { return own[chance.below(8)].sendRight }
    let port = Port(queueLimit: 2) { [self] _, message in receive(message) }
    guard (try? RunLoop.current.add(port, to: chance.isOne(in: 4) ? "other" : .default)) != nil else { return nil }
    own.append(port)
    return port.sendRight
  }

  private func ask(_ right: Port.SendRight?, _ message: Message) {
    guard depth < 3, let right else { return }
    let mode: RunLoop.Mode = chance.isOne(in: 2) ? .default : "other"
    if let answer = try? right.request(message, timeout: .microseconds(50), in: mode) {
      keep(answer)
    }
  }

  private func watch(_ right: Port.SendRight?) {
    guard let right else { return }
    let id = UInt32(chance.below(1000))
    // On any thread. Not to the right itself, which would keep itself by that.
    right.onInvalidation { [port = port.sendRight] in try? port.trySend(Message(id: id)) }
  }

  private func duplicate(_ descriptor: Message.Descriptor, to right: Port.SendRight?) {
    guard descriptor.fileDescriptor >= 0 else { return }
    guard let copy = try? Message.Descriptor(duplicating: descriptor.fileDescriptor) else { return }
    try? right?.trySend(Message([.descriptor(copy)]))
  }

  /// Another named port, with a small queue, which comes and goes.
  private func renewSecond() {
    second?.invalidate()
    second = try? Port(registeredAs: "\(name).2", queueLimit: 3) { [self] _, message in receive(message) }
    if let second { _ = try? RunLoop.current.add(second) }
  }
}
