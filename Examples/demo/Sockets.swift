import Glibc

extension Demo {
  /// The little of TCP on loopback that the echo story needs. Descriptors are the caller's to close.
  enum Socket {
    /// A listener on a port that the system chooses, non-blocking.
    static func listen() throws -> (descriptor: Int32, port: UInt16) {
      let descriptor = try open(flags: Int32(SOCK_NONBLOCK.rawValue))
      do {
        var address = loopback(port: 0)
        try withSockaddr(&address) { try check("bind", bind(descriptor, $0, $1)) }
        try check("listen", Glibc.listen(descriptor, 64))
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withSockaddr(&address) { pointer, _ in
          try check("getsockname", getsockname(descriptor, pointer, &length))
        }
        return (descriptor, UInt16(bigEndian: address.sin_port))
      } catch {
        close(descriptor)
        throw error
      }
    }

    /// A blocking connection whose reads and writes give up after `patience`, and which sends small pieces at once.
    static func connect(to port: UInt16, receiveBuffer: Int32? = nil) throws -> Int32 {
      let descriptor = try open(flags: 0)
      do {
        set(descriptor, tcpLevel, TCP_NODELAY, Int32(1))
        set(descriptor, SOL_SOCKET, SO_RCVTIMEO, timeval(tv_sec: Int(patience.components.seconds), tv_usec: 0))
        set(descriptor, SOL_SOCKET, SO_SNDTIMEO, timeval(tv_sec: Int(patience.components.seconds), tv_usec: 0))
        // Before connect(2): the window is agreed on there.
        if let receiveBuffer { set(descriptor, SOL_SOCKET, SO_RCVBUF, receiveBuffer) }
        var address = loopback(port: port)
        try withSockaddr(&address) { try check("connect", Glibc.connect(descriptor, $0, $1)) }
        return descriptor
      } catch {
        close(descriptor)
        throw error
      }
    }

    /// The next connection, made non-blocking, or nil if none is waiting.
    static func accept(_ listener: Int32, sendBuffer: Int32) throws -> Int32? {
      let descriptor = Glibc.accept(listener, nil, nil)
      guard descriptor >= 0 else {
        // ECONNABORTED: the peer left before it was accepted.
        if errno == EAGAIN || errno == EINTR || errno == ECONNABORTED { return nil }
        throw SystemError(call: "accept", code: errno)
      }
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
      set(descriptor, tcpLevel, TCP_NODELAY, Int32(1))
      set(descriptor, SOL_SOCKET, SO_SNDBUF, sendBuffer)
      return descriptor
    }

    /// Closes with a reset instead of a farewell.
    static func abort(_ descriptor: Int32) {
      set(descriptor, SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
      close(descriptor)
    }

    enum Transfer: Equatable {
      case moved(Int), wouldBlock, ended
      case failed(Int32)
    }

    static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Transfer {
      let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      return count == 0 ? .ended : transfer(count)
    }

    /// MSG_NOSIGNAL: a peer that is gone is an error, not SIGPIPE.
    static func write(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>, waiting: Bool) -> Transfer {
      let flags = Int32(MSG_NOSIGNAL) | (waiting ? 0 : Int32(MSG_DONTWAIT))
      return transfer(bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, flags) })
    }

    private static func transfer(_ count: Int) -> Transfer {
      if count >= 0 { return .moved(count) }
      return errno == EAGAIN || errno == EINTR ? .wouldBlock : .failed(errno)
    }

    // MARK: Private

    private static let tcpLevel = Int32(IPPROTO_TCP)

    private static func open(flags: Int32) throws -> Int32 {
      try check("socket", socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | flags, 0))
    }

    private static func loopback(port: UInt16) -> sockaddr_in {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      return address
    }

    @discardableResult
    private static func withSockaddr<R>(
      _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) throws -> R
    ) throws -> R {
      try withUnsafeMutablePointer(to: &address) { pointer in
        try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          try body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }

    /// For options whose failure changes speed or patience, never what is sent.
    private static func set<Value: BitwiseCopyable>(
      _ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Value
    ) {
      var value = value
      setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Value>.size))
    }

    @discardableResult
    private static func check(_ call: String, _ status: Int32) throws -> Int32 {
      guard status >= 0 else { throw SystemError(call: call, code: errno) }
      return status
    }
  }
}
