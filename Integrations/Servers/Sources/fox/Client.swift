import Glibc

/// Keeps connections alive and asks on all of them, each round with one request on each connection. By blocking calls
/// of one thread: it is the same for every server.
struct Client {
  struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ call: String) { description = "\(call): \(String(cString: strerror(errno)))" }
  }

  private let sockets: [Int32]
  private let request = Array("GET / HTTP/1.1\r\nHost: fox\r\nConnection: keep-alive\r\n\r\n".utf8)

  init(connections: Int, port: UInt16) throws {
    sockets = try (0..<connections).map { _ in try Self.connected(port) }
  }

  private static func connected(_ port: UInt16) throws -> Int32 {
    let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard file >= 0 else { throw Failure("socket") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw Failure("connect") }
    return file
  }

  /// How many answers came: one for each request, or it throws.
  func ask(rounds: Int) throws -> Int {
    var answers = 0
    for _ in 0..<rounds {
      for file in sockets where write(file, request, request.count) != request.count { throw Failure("write") }
      for file in sockets { try readAnswer(file) }
      answers += sockets.count
    }
    return answers
  }

  /// The server's answers end with their body.
  private func readAnswer(_ file: Int32) throws {
    var answer: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1024)
    while !answer.ends(with: Server.body) {
      let count = read(file, &buffer, buffer.count)
      guard count > 0 else { throw Failure("read") }
      answer += buffer[..<count]
    }
    guard answer.starts(with: "HTTP/1.1 200".utf8) else { throw Failure("an answer that is not 200") }
  }

  func close() {
    for file in sockets { _ = Glibc.close(file) }
  }
}

extension [UInt8] {
  fileprivate func ends(with end: [UInt8]) -> Bool { count >= end.count && suffix(end.count).elementsEqual(end) }
}
