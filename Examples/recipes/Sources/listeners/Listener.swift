import Glibc
import RunLoopKit

/// A listening socket that shares its port with others of the same user.
struct Listener {
  let descriptor: Int32
  let port: UInt16

  /// On the loopback device. Port 0: one that is free.
  init(port: UInt16) throws {
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    descriptor = socket(AF_INET, type, 0)
    guard descriptor >= 0 else { throw RunLoopError.system(errno, call: "socket") }
    var on: Int32 = 1
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let failed: String? = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        // Before bind, on each of the sockets, also on the first one.
        if setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, socklen_t(MemoryLayout<Int32>.size)) != 0 {
          return "setsockopt"
        }
        if bind(descriptor, address, length) != 0 { return "bind" }
        if listen(descriptor, SOMAXCONN) != 0 { return "listen" }
        return getsockname(descriptor, address, &length) == 0 ? nil : "getsockname"
      }
    }
    if let failed {
      let error = RunLoopError.system(errno, call: failed)
      close(descriptor)
      throw error
    }
    self.port = UInt16(bigEndian: address.sin_port)
  }

  /// The next connection that the kernel has given to this listener; nil if none waits.
  static func accept(_ descriptor: Int32) -> Int32? {
    while true {
      let connection = Glibc.accept(descriptor, nil, nil)
      if connection >= 0 { return connection }
      if errno != EINTR && errno != ECONNABORTED { return nil }
    }
  }
}
