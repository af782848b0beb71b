import CRunLoopCore
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// A folder of names of this test process's own.
enum NameFolder {
  static let base: String = {
    var template = Array("/tmp/ports-test-XXXXXX".utf8CString)
    precondition(mkdtemp(&template) != nil, "mkdtemp: error \(errno)")
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    setenv("XDG_RUNTIME_DIR", path, 1)
    atexit { NameFolder.remove() }
    return path
  }()

  static var path: String { "\(base)/runloopkit" }

  static var names: [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  private static func remove() {
    for name in names { unlink("\(path)/\(name)") }
    rmdir(path)
    rmdir(base)
  }

  private static let count = Box(0)

  /// A name that no other test has.
  static func newName(_ test: StaticString = #function) -> String {
    _ = base
    return "t\(count.update { $0 += 1; return $0 }).\(getpid())"
  }
}

/// A `port-peer` that runs. Killed at the latest when it is let go.
final class Peer: @unchecked Sendable {
  let processID: pid_t
  private let output: Int32
  private var text: [UInt8] = []
  private var status: Int32?

  init(_ role: String, _ name: String, _ number: Int = 0, isReady: Bool = true) {
    _ = NameFolder.base
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0, "pipe: error \(errno)")
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    let words: [String] = [Peer.path, role, name, "\(number)"]
    var argv: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { argv.forEach { free($0) } }
    var process = pid_t()
    let code = posix_spawn(&process, Peer.path, &actions, nil, &argv, environ)
    precondition(code == 0, "posix_spawn: error \(code)")
    close(ends[1])
    output = ends[0]
    processID = process
    if isReady { precondition(line() == "ready", "port-peer is not ready") }
  }

  deinit {
    if status == nil { kill() }
    close(output)
  }

  /// The next line that it says; nil at its end.
  func line() -> String? {
    while true {
      if let end = text.firstIndex(of: 10) {
        defer { text.removeSubrange(...end) }
        return String(decoding: text[..<end], as: UTF8.self)
      }
      var chunk = [UInt8](repeating: 0, count: 4096)
      let count = read(output, &chunk, chunk.count)
      guard count > 0 else { return nil }
      text += chunk[..<count]
    }
  }

  func send(_ signal: Int32) { Glibc.kill(processID, signal) }

  /// The exit status; 128 + the signal's number.
  @discardableResult
  func wait() -> Int32 {
    if let status { return status }
    var ended: Int32 = 0
    while waitpid(processID, &ended, 0) < 0 && errno == EINTR {}
    status = ended & 0x7f == 0 ? ended >> 8 & 0xff : 128 + ended & 0x7f
    return status!
  }

  /// As a crash would. It is gone when this returns.
  func kill() {
    send(SIGKILL)
    wait()
  }

  /// Its descriptors.
  var descriptors: Int {
    guard let folder = opendir("/proc/\(processID)/fd") else { return -1 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count
  }

  private static let path = program("port-peer")
}

/// The path of a program of the package, which is beside the tests.
func program(_ name: String) -> String {
  var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
  let length = readlink("/proc/self/exe", &buffer, buffer.count)
  let test = String(decoding: buffer[..<max(0, length)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  return test.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } + "/\(name)"
}

/// A right of the peer `name` that has answered, and a port of this process, whose name has a "p" more.
func connected(to name: String) throws -> (right: Port.SendRight, port: Port) {
  let right = try Port.connect(to: name)
  let port = try Port(registeredAs: name + "p") { _, _ in }
  _ = try right.request(Message(id: 1))
  return (right, port)
}

/// A thread whose loop serves a port until it is told to stop.
final class ServingThread: @unchecked Sendable {
  private let thread: RunLoop.Thread
  var loop: RunLoop { thread.loop! }

  init(_ ports: Port...) {
    thread = RunLoop.Thread(name: "serving") { loop in
      for port in ports { try loop.add(port) }
    }
    try! thread.start()
  }

  func add(_ port: Port) { _ = try? loop.add(port) }

  func stop() {
    thread.stop(.now)
    try! thread.join()
  }

  deinit { thread.stop(.now) }
}

/// A raw connection to a port: what a hostile peer has.
final class RawPeer {
  let descriptor: Int32

  init(_ name: String) {
    let folder = rlc_port_folder_open()
    descriptor = rlc_port_name_connect(folder, name)
    close(folder)
    precondition(descriptor >= 0, "connect: \(descriptor)")
  }

  /// An end of a pair.
  init(owning descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  @discardableResult
  func send(_ bytes: [UInt8], _ descriptors: [Int32] = []) -> Int32 {
    bytes.withUnsafeBytes {
      var part = iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
      return rlc_message_socket_send(descriptor, &part, 1, descriptors, descriptors.count)
    }
  }

  /// The next packet, and how many descriptors came with it; nil at the end.
  func receive() -> (bytes: [UInt8], descriptors: Int)? {
    var buffer = [UInt8](repeating: 0, count: Int(RLC_FRAME_LARGEST))
    var received = rlc_received()
    while true {
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      precondition(poll(&entry, 1, 20_000) == 1, "nothing comes")
      let size = rlc_message_socket_receive(descriptor, &buffer, buffer.count, &received)
      if size == -Int64(EAGAIN) || size == -Int64(ECONNRESET) { continue }
      guard size > 0 else { return nil }
      rlc_received_close(&received, 0)
      return (Array(buffer[..<Int(size)]), received.count)
    }
  }

  /// The next packet, which has one descriptor: the caller's to close.
  func receiveFile() -> (file: Int32, packet: [UInt8]) {
    var buffer = [UInt8](repeating: 0, count: Int(RLC_FRAME_LARGEST))
    var received = rlc_received()
    precondition(isReadable(descriptor, 20_000), "nothing comes")
    let size = rlc_message_socket_receive(descriptor, &buffer, buffer.count, &received)
    precondition(size > 0 && received.count == 1, "\(size) bytes, \(received.count) descriptors")
    return (received.descriptors.0, Array(buffer[..<Int(size)]))
  }

  /// So many messages.
  func takeMessages(_ count: Int, file: StaticString = #filePath, line: UInt = #line) {
    for _ in 0..<count {
      XCTAssertEqual(receive()?.bytes[5], UInt8(RLC_FRAME_MESSAGE.rawValue), file: file, line: line)
    }
  }

  /// The words of the farewell that ends the connection; nil if it ends without one.
  func farewell() -> String? {
    var words: String?
    while let (bytes, _) = receive() {
      if bytes.count >= 32, bytes[5] == UInt8(RLC_FRAME_GOODBYE.rawValue) {
        words = String(decoding: bytes[32...], as: UTF8.self)
      }
    }
    return words
  }
}

extension RawPeer {
  /// Runs the loop until the peer has something to read, at most for half a minute.
  func awaitNews(serving loop: RunLoop, file: StaticString = #filePath, line: UInt = #line) throws {
    try loop.serve(file: file, line: line) { isReadable(descriptor) }
  }
}

/// A raw peer that has given this process a right with the number 5: what is sent there, it reads when the test does.
final class RawReceiver: Sendable {
  let port: Port
  nonisolated(unsafe) let peer: RawPeer
  let right: Port.SendRight
  private let serving: ServingThread
  private let messages: Box<[Message]>
  private let came: Gate

  init(accepting policy: RunLoop.PeerPolicy = .sameUser) throws {
    let (name, messages, came) = (NameFolder.newName(), Box<[Message]>([]), Gate())
    port = try Port(registeredAs: name, accepting: policy) { _, message in
      messages.update { $0.append(message) }
      came.open()
    }
    serving = ServingThread(port)
    peer = RawPeer(name)
    peer.send(frame(entries: [.right(5)]))
    came.wait()
    right = messages.update { $0.removeFirst() }.rights[0]
    (self.messages, self.came) = (messages, came)
  }

  /// The port is in no mode from now on.
  func leaveModes() { XCTAssertTrue(serving.loop.remove(port)) }

  /// The next message of the peer.
  func nextMessage() -> Message {
    came.wait()
    return messages.update { $0.removeFirst() }
  }

  /// The right to answer a request of the peer, who gives it this number. The pass that has read the request is over: the
  /// connection does nothing more by itself.
  func nextReply(
    _ number: UInt64, flags: UInt8 = UInt8(RLC_FRAME_ONCE | RLC_FRAME_REPLY), _ descriptors: [Int32] = []
  ) throws -> Port.SendRight {
    peer.send(frame(descriptors: descriptors.count, entries: [.right(number, flags: flags)]), descriptors)
    let message = nextMessage()
    try serving.loop.performAndWait {}
    return try XCTUnwrap(message.reply)
  }

  /// Sends messages until there is no room: how many.
  func fill() -> Int { right.fill() }

  /// Takes what `fill` has sent.
  func takeMessages(_ count: Int, file: StaticString = #filePath, line: UInt = #line) {
    peer.takeMessages(count, file: file, line: line)
  }

  func end() {
    serving.stop()
    port.invalidate()
  }
}

extension Port.SendRight {
  /// Sends messages until there is no room: how many.
  func fill() -> Int {
    var count = 0
    while thrown({ try trySend(Message()) }) == nil { count += 1 }
    return count
  }
}

/// An entry of a frame's table.
struct Entry {
  let kind: rlc_frame_entry_kind
  var flags: UInt8 = 0
  var count: UInt32 = 0
  var value: UInt64 = 0

  static func bytes(_ count: UInt64) -> Entry { Entry(kind: RLC_FRAME_BYTES, value: count) }
  static var descriptor: Entry { Entry(kind: RLC_FRAME_DESCRIPTOR) }
  static func right(_ number: UInt64, flags: UInt8 = 0, count: UInt32 = 0) -> Entry {
    Entry(kind: RLC_FRAME_RIGHT, flags: flags, count: count, value: number)
  }
}

/// A frame as it is sent.
func frame(
  kind: rlc_frame_kind = RLC_FRAME_MESSAGE, id: UInt32 = 0, flags: Int = 0, to destination: UInt64 = 0,
  payload: UInt64? = nil, descriptors: Int = 0, version: UInt8 = 1, magic: UInt32 = 0x504b_4c52,
  entries: [Entry] = [], bytes: [UInt8] = []
) -> [UInt8] {
  var header = rlc_frame_header()
  header.magic = magic
  header.version = version
  header.kind = UInt8(kind.rawValue)
  header.flags = UInt16(flags)
  header.id = id
  header.entries = UInt16(entries.count)
  header.descriptors = UInt16(descriptors)
  header.destination = destination
  header.payload = payload ?? UInt64(bytes.count)
  var whole = withUnsafeBytes(of: header) { Array($0) }
  for entry in entries {
    let made = rlc_frame_entry(
      kind: UInt8(entry.kind.rawValue), flags: entry.flags, zero: 0, count: entry.count, value: entry.value)
    whole += withUnsafeBytes(of: made) { Array($0) }
  }
  return whole + bytes
}

/// The calling thread, as a folder of /proc.
func ownThread() -> String {
  var buffer = [UInt8](repeating: 0, count: 64)
  let count = buffer.withUnsafeMutableBytes { readlink("/proc/thread-self", $0.baseAddress!, $0.count) }
  return String(decoding: buffer[..<max(count, 0)], as: UTF8.self)
}

/// At this moment it waits for something.
func isAsleep(_ thread: String) -> Bool { state(of: thread) == "S" }

/// As proc(5) names it.
func state(of thread: String) -> Character? {
  let file = open("/proc/\(thread)/stat", O_RDONLY)
  defer { close(file) }
  var text = [UInt8](repeating: 0, count: 256)
  let count = read(file, &text, text.count)
  let words = String(decoding: text[..<max(count, 0)], as: UTF8.self)
  guard let end = words.lastIndex(of: ")") else { return nil }
  return words[end...].dropFirst(2).first
}
