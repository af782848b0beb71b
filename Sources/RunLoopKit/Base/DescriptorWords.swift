internal import RunLoopLibc

/// Texts about a descriptor, for errors.
enum DescriptorWords {
  private static func isAlwaysReady(_ descriptor: Int32) -> Bool {
    var info = stat()
    return fstat(descriptor, &info) == 0 && [S_IFREG, S_IFBLK, S_IFCHR].contains(info.st_mode & S_IFMT)
  }

  /// Returns a text such as `descriptor 7 (/etc/hostname) is a regular file`.
  static func kind(of descriptor: Int32) -> String {
    var info = stat()
    guard fstat(descriptor, &info) == 0 else { return "descriptor \(descriptor) is a file" }
    let kind =
      switch info.st_mode & S_IFMT {
      case S_IFREG: "a regular file"
      case S_IFDIR: "a folder"
      case S_IFBLK: "a block device"
      case S_IFCHR: "a device without a queue to wait for"
      case S_IFIFO: "a pipe"
      case S_IFSOCK: "a socket"
      case S_IFLNK: "a symbolic link"
      default: "an anonymous file"
      }
    return "descriptor \(descriptor)\(path(of: descriptor)) is \(kind)"
  }

  /// The text about a negative number.
  static func isNone(_ descriptor: Int32) -> String {
    "\(descriptor) is no descriptor; the call that returned it has failed"
  }

  /// The text about a number that a system call has refused with `error`.
  static func state(_ descriptor: Int32, _ error: Int32) -> String {
    guard error == EBADF else { return "descriptor \(descriptor)" }
    return "descriptor \(descriptor) is not open; it must stay open until its source has left its modes"
  }

  /// The text about a member's descriptor if epoll has refused to change its registration with `error`.
  static func changed(_ descriptor: Int32, _ error: Int32) -> String {
    guard error == EBADF else { return "descriptor \(descriptor)" }
    return "descriptor \(descriptor) was closed, or is another file's by now; it must stay open until its source has "
      + "left its modes"
  }

  /// Why epoll refuses to watch the descriptor.
  static func refusal(_ descriptor: Int32, _ error: Int32, isCounter: Bool) -> String {
    switch error {
    case EPERM:
      "\(kind(of: descriptor)), which epoll cannot watch"
        + (isCounter
          ? "; a PortSource takes an eventfd, a timerfd or a pipe"
          : isAlwaysReady(descriptor) ? "; pass unpollable: .alwaysReady" : "")
    case EBADF: state(descriptor, error)
    case EINVAL: "descriptor \(descriptor) is the loop's own"
    case ELOOP: "descriptor \(descriptor) watches the loop's own, or more epoll instances than may watch each other"
    default: "descriptor \(descriptor)"
    }
  }

  private static func path(of descriptor: Int32) -> String {
    let text = [UInt8](unsafeUninitializedCapacity: 256) { buffer, count in
      let size = buffer.withMemoryRebound(to: CChar.self) {
        readlink("/proc/self/fd/\(descriptor)", $0.baseAddress!, $0.count)
      }
      count = max(size, 0)
    }
    return text.first == UInt8(ascii: "/") ? " (\(String(decoding: text, as: UTF8.self)))" : ""
  }
}
