import Glibc

/// The little of TCP that is needed. Descriptors are the caller's to close.
enum Socket {
  enum Transfer {
    case moved(Int), wouldBlock, ended
    case failed(Int32)
  }

  /// A listener that does not block, and its port.
  static func listen(host: String, port: UInt16) throws -> (descriptor: Int32, port: UInt16) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { throw Failure("'\(host)' is no IPv4 address") }
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw Failure.system("socket") }
    // A daemon that starts again does not wait for its predecessor's connections to be forgotten.
    set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failed: String? = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        if bind(descriptor, address, length) != 0 { return "bind to \(host):\(port)" }
        if Glibc.listen(descriptor, SOMAXCONN) != 0 { return "listen" }
        return getsockname(descriptor, address, &length) == 0 ? nil : "getsockname"
      }
    }
    if let failed {
      let code = errno
      close(descriptor)
      throw Failure.system(failed, code)
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  enum Accepted {
    case connection(Int32)
    case none
    /// No descriptor is left, in the process or in the system, or no memory, or worse.
    case exhausted(Int32)
  }

  static func accept(_ listener: Int32) -> Accepted {
    let descriptor = Glibc.accept(listener, nil, nil)
    guard descriptor >= 0 else {
      switch errno {
      case EAGAIN: return .none
      // The connection is gone again, or its network is: accept(2) says to go on.
      case EINTR, ECONNABORTED, EPROTO, ENETDOWN, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH: return accept(listener)
      default: return .exhausted(errno)
      }
    }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    return .connection(descriptor)
  }

  static func receive(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
    transfer(recv(descriptor, buffer.baseAddress, buffer.count, 0)) ?? .ended
  }

  /// A peer that is gone is an error, not SIGPIPE.
  static func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Transfer {
    transfer(Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))) ?? .moved(0)
  }

  /// Nil for zero.
  private static func transfer(_ count: Int) -> Transfer? {
    if count != 0 {
      return count > 0 ? .moved(count) : errno == EAGAIN || errno == EINTR ? .wouldBlock : .failed(errno)
    }
    return nil
  }

  /// How much has arrived and is not read.
  static func arrived(_ descriptor: Int32) -> Int {
    var count: Int32 = 0
    return ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
  }

  /// For options whose failure changes speed, never what is sent.
  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }
}
