import Glibc
import RunLoopKit

/// The little of TCP that is needed. Nothing here waits.
enum Socket {
  /// A listener on the loopback device, and its port.
  static func listen(port: UInt16) throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | nonBlocking, 0)
    guard descriptor >= 0 else { throw RunLoopError.system(errno, call: "socket") }
    var reuse: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed: String? = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        if bind(descriptor, address, length) != 0 { return "bind" }
        if Glibc.listen(descriptor, SOMAXCONN) != 0 { return "listen" }
        return getsockname(descriptor, address, &length) == 0 ? nil : "getsockname"
      }
    }
    if let failed {
      let error = RunLoopError.system(errno, call: failed)
      close(descriptor)
      throw error
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  /// Nil: none waits.
  static func accept(_ listener: Int32) throws -> Int32? {
    while true {
      let descriptor = Glibc.accept(listener, nil, nil)
      if descriptor >= 0 {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        return descriptor
      }
      switch errno {
      case EAGAIN: return nil
      case EINTR, ECONNABORTED: continue
      default: throw RunLoopError.system(errno, call: "accept")
      }
    }
  }

  /// What has come; empty: nothing yet; nil: the end, or the connection is broken.
  static func read(_ descriptor: Int32) -> [UInt8]? {
    var count = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: 16 << 10) { buffer, initialized in
      count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      initialized = max(0, count)
    }
    if count < 0 && (errno == EAGAIN || errno == EINTR) { return [] }
    return count > 0 ? bytes : nil
  }

  /// How many bytes it has taken: none too if the connection is broken, which reading tells.
  static func send(_ descriptor: Int32, _ bytes: [UInt8]) -> Int {
    max(0, bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) })
  }

  /// Nothing is sent or received any more.
  static func hangUp(_ descriptor: Int32) { shutdown(descriptor, Int32(SHUT_RDWR)) }

  static func close(_ descriptor: Int32) { Glibc.close(descriptor) }

  private static let nonBlocking = Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
}

/// Cuts what arrives into lines.
struct Lines {
  private var bytes: [UInt8] = []

  mutating func append(_ bytes: [UInt8]) { self.bytes += bytes }

  /// The next whole line, without its newline or what telnet puts before it.
  mutating func next() -> String? {
    guard let newline = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let line = bytes[..<newline]
    bytes.removeFirst(newline + 1)
    return String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
  }

  /// How much is no line yet.
  var rest: Int { bytes.count }
}
