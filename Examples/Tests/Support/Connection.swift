import Glibc

/// A client's end. Sends and receives with patience: a daemon that does not answer is an error, not a hang.
package final class Connection {
  package struct Failure: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
  }

  package let answers: Lines
  private var descriptor: Int32 { answers.descriptor }

  package init(to port: UInt16) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    answers = Lines(descriptor)
    guard descriptor >= 0 else { throw Failure(description: "socket: error \(errno)") }
    var patience = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw Failure(description: "connect: error \(errno)") }
  }

  package func send(_ text: String) throws { try send(Array(text.utf8)) }

  package func send(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { throw Failure(description: "send: error \(errno)") }
      rest = rest.dropFirst(count)
    }
  }

  /// No more will be sent; answers can still come.
  package func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// The answer to one request, without newlines; nil if the connection has ended.
  package func ask(_ request: String) throws -> String? {
    try send(request + "\n")
    return try answers.next()
  }
}
