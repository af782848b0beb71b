// The other process of the tests of ports: `port-peer ROLE NAME [NUMBER]`. Says "ready" when it is, and ends when it is killed,
// told to (message 3), or has nothing left.
import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts

typealias Port = RunLoop.Port
typealias Message = RunLoop.Message

@main
struct PortPeer {
  static func main() throws {
    let words = CommandLine.arguments
    guard words.count >= 3 else { exit(2) }
    let number = words.count > 3 ? Int(words[3])! : 0
    // Of tests that have crashed; it would hold the pipe that somebody reads what they say from.
    alarm(600)
    switch words[1] {
    case "serve": try serve(words[2], limit: number > 0 ? number : Port.defaultQueueLimit)
    case "flood": try flood(words[2], number)
    case "send": try send(words[2], number)
    case "hold": try hold(words[2])
    default: exit(2)
    }
  }

  /// At once, through a pipe too.
  static func print(_ line: String) { _ = (line + "\n").withCString { write(1, $0, strlen($0)) } }

  /// Answers as the id says.
  static func serve(_ name: String, limit: Int) throws {
    nonisolated(unsafe) var kept: [Message] = []
    nonisolated(unsafe) var ports: [Port] = []
    let port = try Port(registeredAs: name, queueLimit: limit) { port, message in
      do {
        switch message.id {
        case 1: try message.reply?.send(Message(id: 1, message.components))  // everything back
        case 2: try message.reply?.send(Message(id: sum(message), bytes: Message.Bytes("\(message.components.count)")))
        case 3:
          port.invalidate()
          RunLoop.current.stop()
        case 4: kept.append(message)
        case 5: kept.removeAll()
        case 6:  // a port of its own
          let own = Port(replying: { _, message in Message(id: message.id + 1000, message.components) })
          try RunLoop.current.add(own)
          ports.append(own)
          try message.reply?.send(Message(id: 6, [.right(own.sendRight)]))
        case 7: ports.removeLast().invalidate()
        case 8: try message.rights.first?.send(Message(id: 13, bytes: "from the third", reply: message.reply))
        case 9: exit(9)
        case 10: raise(SIGSTOP)
        case 4242: try message.reply?.send(Message(id: UInt32(helper())))
        case 11: try message.rights.first?.send(Message(id: 11, [.right(port.sendRight)]))
        default: try message.reply?.trySend(Message(id: message.id, bytes: message.bytes ?? ""))
        }
      } catch { print("error: \(error)") }
    }
    try RunLoop.current.add(port)
    print("ready")
    _ = try RunLoop.current.run()
  }

  /// A child that runs no other program, and lives until it is killed, or a minute.
  static func helper() -> pid_t {
    let child = test_fork()
    if child != 0 { return child }
    sleep(60)
    _exit(0)
  }

  static func sum(_ message: Message) -> UInt32 {
    message.bytes?.withUnsafeBytes { $0.reduce(0) { $0 &* 31 &+ UInt32($1) } } ?? 0
  }

  /// Messages with a descriptor each, until it is killed or nobody takes them.
  static func flood(_ name: String, _ size: Int) throws {
    let right = try Port.connect(to: name)
    let bytes = Message.Bytes([UInt8](repeating: 7, count: size))
    print("ready")
    var id: UInt32 = 0
    while true {
      let descriptor = try Message.Descriptor(duplicating: 1)
      do { try right.send(Message(id: id, [.bytes(bytes), .descriptor(descriptor)])) } catch {
        print("ended: \(error)")
        return
      }
      id &+= 1
    }
  }

  /// So many numbered messages, and it ends at once.
  static func send(_ name: String, _ count: Int) throws {
    let right = try Port.connect(to: name)
    print("ready")
    for id in 0..<count {
      let bytes: Message.Bytes =
        id % 16 == 5 ? Message.Bytes([UInt8](repeating: UInt8(id & 0xff), count: 100_000)) : "x"
      try right.send(Message(id: UInt32(id), bytes: bytes))
    }
  }

  /// Connects, asks once, and waits for messages on a port of its own.
  static func hold(_ name: String) throws {
    let right = try Port.connect(to: name)
    let own = Port { port, message in
      switch message.id {
      case 3: RunLoop.current.stop()
      case 4242: try? message.reply?.send(Message(id: UInt32(helper())))
      default: try? message.reply?.send(message)
      }
    }
    try RunLoop.current.add(own)
    try right.send(Message(id: 77, [.right(own.sendRight)]))
    print("ready")
    _ = try RunLoop.current.run()
    print("ended")
  }
}
