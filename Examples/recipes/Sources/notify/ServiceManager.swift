import Glibc
import RunLoopKit

/// systemd, or whatever has started this process and wants to be notified: a datagram socket whose name is in the
/// environment. This is what sd_notify(3) does, without a library.
struct ServiceManager {
  private let name: [UInt8]

  /// Returns nil if the process was started without NOTIFY_SOCKET: then there is nothing to notify.
  init?() {
    guard let name = getenv("NOTIFY_SOCKET") else { return nil }
    self.name = Array(String(cString: name).utf8)
  }

  /// Sends an assignment, or several lines of them: "READY=1", "STATUS=…", "WATCHDOG=1", "STOPPING=1".
  func notify(_ state: String) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let room = MemoryLayout.size(ofValue: address.sun_path)
    guard name.count < room else { throw RunLoopError.system(ENAMETOOLONG, call: "NOTIFY_SOCKET") }
    withUnsafeMutableBytes(of: &address.sun_path) { path in
      path.copyBytes(from: name)
      if name.first == UInt8(ascii: "@") { path[0] = 0 }  // a name in the abstract namespace, not a file
    }
    let length = socklen_t(MemoryLayout<sockaddr_un>.size - room + name.count)
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw RunLoopError.system(errno, call: "socket") }
    defer { close(descriptor) }
    let text = Array(state.utf8)
    let sent = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        sendto(descriptor, text, text.count, Int32(MSG_NOSIGNAL), $0, length)
      }
    }
    guard sent == text.count else { throw RunLoopError.system(errno, call: "sendto") }
  }

  /// How long the manager waits for the next "WATCHDOG=1" before it ends this process; nil if it does not.
  var watchdogLimit: Duration? {
    func number(_ name: String) -> Int64? { getenv(name).flatMap { Int64(String(cString: $0)) } }
    guard let microseconds = number("WATCHDOG_USEC"), microseconds > 0 else { return nil }
    if let process = number("WATCHDOG_PID"), process != Int64(getpid()) { return nil }  // it was inherited
    return .microseconds(microseconds)
  }
}
