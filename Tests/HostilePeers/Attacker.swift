import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopTestSupport

/// Raw connections that send what they like. One round for each line that it reads, which is the round's seed; all that it has
/// opened is closed when it answers.
final class Attacker {
  private let name: String
  private var chance = SplitMix(0)
  private var connections: [RawConnection] = []
  /// Of this round, to be closed with it.
  private var opened: [Int32] = []
  /// Ends of connections that are the server's, and are not used again.
  private var given: [Int32] = []

  init(_ name: String) {
    self.name = name
    // What the server ends, and a pipe without a reader.
    signal(SIGPIPE, SIG_IGN)
  }

  func run() {
    while let line = Lines.read(from: 0), let seed = UInt64(line) {
      chance = SplitMix(seed)
      attack()
      connections = []
      closeOpened()
      Lines.write("done", to: 1)
    }
  }

  private func attack() {
    for _ in 0..<(20 + chance.below(120)) {
      if connections.isEmpty || (connections.count < 8 && chance.isOne(in: 10)) { connect() }
      guard !connections.isEmpty else { continue }
      act(on: chance.below(connections.count))
      if opened.count + given.count > 64 { closeOpened() }
    }
  }

  private func connect() {
    if let made = RawConnection(to: chance.isOne(in: 4) ? "\(name).2" : name) { connections.append(made) }
  }

  private func closeOpened() {
    for descriptor in opened + given { close(descriptor) }
    (opened, given) = ([], [])
  }

  private func act(on index: Int) {
    let connection = connections[index]
    switch chance.below(24) {
    case 0: connections.remove(at: index)
    case 1: shutdown(connection.descriptor, Int32([SHUT_RD, SHUT_WR, SHUT_RDWR][chance.below(3)]))
    case 2, 3: listen(to: connection)
    case 4, 5: read(connection)
    case 6: send(Packet((0..<chance.below(80)).map { _ in UInt8(chance.below(256)) }), on: connection)
    default: send(packet(on: connection), on: connection)
    }
  }

  private func send(_ sound: Packet, on connection: RawConnection) {
    var packet = sound
    if chance.isOne(in: 6) { mutate(&packet) }
    let status = connection.send(packet)
    // No room: the server is busy, or waits for this side to read.
    if status == -EAGAIN, connections.contains(where: { $0 === connection }) { return read(connection) }
    if status == -EPIPE || status == -ECONNRESET || status == -ENOTCONN { connections.removeAll { $0 === connection } }
  }

  private func mutate(_ packet: inout Packet) {
    for _ in 0..<(1 + chance.below(3)) where !packet.bytes.isEmpty {
      // The header more often than what comes after it.
      let place = chance.below(chance.isOne(in: 2) ? min(64, packet.bytes.count) : packet.bytes.count)
      packet.bytes[place] = chance.isOne(in: 2) ? UInt8(chance.below(4)) : UInt8(chance.below(256))
    }
    switch chance.below(6) {
    case 0: packet.bytes.removeLast(chance.below(packet.bytes.count + 1))
    case 1: packet.descriptors = packet.descriptors.dropLast(chance.below(2))
    case 2: packet.descriptors.append(0)
    default: break
    }
  }

  private func read(_ connection: RawConnection) {
    while connections.count < 12, let came = connection.receive() { connections += came }
  }

  /// For something to answer with, if it comes soon.
  private func listen(to connection: RawConnection) {
    var entry = pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&entry, 1, 2)
    read(connection)
  }

  // MARK: Packets

  private func packet(on connection: RawConnection) -> Packet {
    switch chance.below(20) {
    case 0, 1, 2:
      let isQuiet = chance.isOne(in: 4)
      let most = isQuiet ? 3 : 2
      let rights = (0..<(chance.below(most) + (isQuiet ? 0 : 1))).map { _ in
        rlc_frame_entry.right(theirNumber(connection), count: UInt32(1 + chance.below(3)))
      }
      return Packet(RLC_FRAME_DROP, flags: isQuiet ? Int(RLC_FRAME_IS_QUIET) : 0, rights)
    case 3, 4: return Packet(RLC_FRAME_DEAD, [.right(ownNumber(connection))])
    case 5, 6: return Packet(RLC_FRAME_INTRODUCE, to: theirNumber(connection), [], [], [socket(connection)])
    case 7: return Packet(RLC_FRAME_GOODBYE, [], Array("tired".utf8))
    default: return message(on: connection)
    }
  }

  private func message(on connection: RawConnection) -> Packet {
    var (entries, descriptors, inline) = ([rlc_frame_entry](), [Int32](), [UInt8]())
    let isInFile = chance.isOne(in: 8)
    if isInFile {
      descriptors.append(file(of: 100))
      entries.append(.bytes(100))
    }
    if chance.isOne(in: 2) {
      entries.append(right(on: connection, &descriptors, Int(RLC_FRAME_REPLY)))
    }
    for _ in 0..<chance.below(chance.isOne(in: 40) ? 200 : 5) {
      switch chance.below(5) {
      case 0 where !isInFile:
        let count = chance.below(40)
        entries.append(.bytes(count))
        inline += [UInt8](repeating: 7, count: count)
      case 1 where descriptors.count < 200:
        entries.append(.descriptor)
        descriptors.append(anyDescriptor())
      default: entries.append(right(on: connection, &descriptors, 0))
      }
    }
    return Packet(
      RLC_FRAME_MESSAGE, id: UInt32(chance.below(9)), flags: isInFile ? Int(RLC_FRAME_IN_MEMORY_FILE) : 0,
      to: theirNumber(connection), payload: isInFile ? 100 : nil, entries, inline, descriptors)
  }

  private func right(on connection: RawConnection, _ descriptors: inout [Int32], _ flags: Int) -> rlc_frame_entry {
    let once = flags != 0 || chance.isOne(in: 4) ? Int(RLC_FRAME_ONCE) * chance.below(2) : 0
    switch chance.below(6) {
    case 0 where descriptors.count < 200:
      descriptors.append(socket(connection))
      return .right(0, flags | once | Int(RLC_FRAME_AS_SOCKET))
    case 1, 2: return .right(theirNumber(connection), flags | once | Int(RLC_FRAME_YOURS))
    default: return .right(ownNumber(connection), flags | once)
    }
  }

  /// Mostly one that it has been told, perhaps gone since.
  private func theirNumber(_ connection: RawConnection) -> UInt64 {
    switch chance.below(8) {
    case 0: UInt64(chance.below(12))
    case 1: chance.isOne(in: 3) ? chance.next() : 0
    default: connection.theirs[chance.below(connection.theirs.count)]
    }
  }

  /// A new one, or one that the server knows.
  private func ownNumber(_ connection: RawConnection) -> UInt64 {
    if !connection.given.isEmpty, chance.isOne(in: 2) { return connection.given[chance.below(connection.given.count)] }
    if chance.isOne(in: 30) { return chance.next() }
    connection.last += 1
    connection.given.append(connection.last)
    return connection.last
  }

  // MARK: Descriptors

  /// An end of a new pair, whose other end this side keeps or not; or an end of what there is, or no such socket.
  private func socket(_ connection: RawConnection) -> Int32 {
    switch chance.below(10) {
    case 0: return anyDescriptor()
    case 1 where !connection.hasRead:
      // Its own end, which this side has not read and does not: it would take from the server what both ends there say.
      let end = dup(connection.descriptor)
      given.append(end)
      connections.removeAll { $0 === connection }
      return end
    default:
      var pair: [Int32] = [-1, -1]
      guard rlc_message_socket_pair(&pair) == 0 else { return 0 }
      given.append(pair[0])
      if chance.isOne(in: 3) || connections.count >= 12 {
        given.append(pair[1])
      } else {
        connections.append(RawConnection(owning: pair[1]))
      }
      return pair[0]
    }
  }

  private func anyDescriptor() -> Int32 {
    var pair: [Int32] = [-1, -1]
    switch chance.below(6) {
    case 0: rlc_message_socket_pair(&pair)
    case 1: return file(of: 1 + chance.below(200))
    case 2: socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair)
    case 3: return opened.isEmpty ? 0 : opened[chance.below(opened.count)]
    default: pipe(&pair)
    }
    guard pair[0] >= 0 else { return 0 }
    opened += pair
    return pair[chance.below(2)]
  }

  /// Sealed, or not.
  private func file(of count: Int) -> Int32 {
    let bytes = [UInt8](repeating: 3, count: count)
    let made = bytes.withUnsafeBytes {
      var part = iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: count)
      return chance.isOne(in: 5) ? test_memory_file(count, 0) : rlc_memory_file_make(&part, 1)
    }
    guard made >= 0 else { return 0 }
    opened.append(made)
    return made
  }
}
