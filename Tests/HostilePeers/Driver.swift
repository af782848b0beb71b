import Glibc
import RunLoopKit
import RunLoopPorts

/// Starts server and attacker, is the honest client, and looks after each round whether all is as it was.
final class Driver {
  private struct Failure: Error, CustomStringConvertible { let description: String }

  private let options: Options
  private let folder: String
  private let name = "server"
  private let server: Child
  private let attacker: Child
  private let right: Port.SendRight
  private let control: Port.SendRight
  private var asked: UInt32 = 0

  init(_ options: Options) throws {
    self.options = options
    var template = Array("/tmp/hostile-peers-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure(description: "mkdtemp: error \(errno)") }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    setenv("XDG_RUNTIME_DIR", folder, 1)
    server = Child(["serve", name, "\(options.seed)"])
    guard server.line() == "ready" else { throw Failure(description: "the server does not begin") }
    attacker = Child(["attack", name])
    right = try Port.connect(to: name)
    control = try Port.connect(to: "\(name).control")
  }

  /// True if all was well.
  func run() throws -> Bool {
    let end = RunLoop.Instant.now.advanced(by: .seconds(options.seconds))
    var seed = options.seed
    var failure: String?
    do {
      try askAndBeTold()
      let base = try state()
      while failure == nil, seed < options.seed &+ options.rounds || RunLoop.Instant.now < end {
        do { try round(seed, beside: base) } catch { failure = "seed \(seed): \(error)" }
        seed += 1
      }
      if failure == nil { _ = try control.request(Message(id: Order.end), timeout: patience) }
    } catch {
      failure = failure ?? "\(error)"
    }
    if failure != nil { server.kill() }
    let statuses = [server, attacker].map { $0.wait() }
    if failure == nil, statuses != [0, 0] { failure = "server and attacker end with \(statuses)" }
    tidyUp()
    let rounds = "hostile peers: \(seed - options.seed) rounds, the last one is seed \(seed - 1)"
    print(failure.map { "FAIL \($0)" } ?? rounds)
    return failure == nil
  }

  /// Long after what takes longest on a slow machine.
  private let patience = Duration.seconds(30)

  private func tidyUp() {
    for name in [name, "\(name).2", "\(name).control"] {
      for suffix in ["", ".lock"] { unlink("\(folder)/runloopkit/\(name)\(suffix)") }
    }
    rmdir("\(folder)/runloopkit")
    rmdir(folder)
  }

  private func round(_ seed: UInt64, beside base: String) throws {
    attacker.tell("\(seed)")
    try askAndBeTold()
    guard attacker.line() == "done" else { throw Failure(description: "the attacker has ended") }
    var now = try state()
    var tries = 0
    // What the attacker has left in sockets is looked at meanwhile.
    while now != base, tries < 20_000 {
      Driver.makeTheKernelLook()
      now = try state()
      tries += 1
    }
    if now != base { throw Failure(description: "is left: \(now)\nbefore: \(base)") }
  }

  /// A socket that nobody has but a packet in its own queue is closed when the next one is.
  private static func makeTheKernelLook() {
    var pair: [Int32] = [-1, -1]
    socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair)
    for end in pair { close(end) }
  }

  private func state() throws -> String {
    let answer = try control.request(Message(id: Order.state), timeout: patience)
    return answer.bytes.map { $0.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } } ?? ""
  }

  /// Requests with bytes and a right each: all are answered, and the right's port is told of each once, in order.
  private func askAndBeTold() throws {
    let told = Told()
    let own = Port { _, message in told.ids.append(message.id) }
    try RunLoop.current.add(own)
    defer { own.invalidate() }
    let first = asked + 1
    for index in 0..<12 {
      asked += 1
      let bytes = Message.Bytes([UInt8](repeating: UInt8(index), count: index == 7 ? 100_000 : index * 100))
      let answer = try right.request(Message(id: asked, [.bytes(bytes), .right(own.sendRight)]), timeout: patience)
      guard answer.id == asked, answer.bytes == bytes, answer.rights == [own.sendRight] else {
        throw Failure(description: "request \(asked) is answered with \(answer)")
      }
    }
    let end = RunLoop.Instant.now.advanced(by: patience)
    while told.ids.count < 12, RunLoop.Instant.now < end { _ = try RunLoop.current.run(in: .default, for: .zero) }
    guard told.ids == Array(first...asked) else { throw Failure(description: "was told of \(told.ids)") }
  }

  /// Of this thread's loop only.
  private final class Told: @unchecked Sendable { var ids: [UInt32] = [] }
}
