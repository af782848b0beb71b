internal import RunLoopLibc

extension RunLoopError {
  /// A C status: `>= 0`, or `-errno`. The words are made for a failure only.
  @inline(__always)
  @discardableResult
  package static func check(
    _ status: Int32, _ name: String, _ detail: @autoclosure () -> String? = nil
  ) throws(RunLoopError) -> Int32 {
    guard status >= 0 else { throw .system(-status, call: name, detail()) }
    return status
  }

  /// The answer of a libc function: -1 and `errno` if it failed.
  @discardableResult
  package static func checkErrno(
    _ answer: Int32, _ name: String, _ detail: @autoclosure () -> String? = nil
  ) throws(RunLoopError) -> Int32 {
    let error = RunLoopLibc.errno
    guard answer >= 0 else { throw .system(error, call: name, detail()) }
    return answer
  }

  /// What it is about and the remedy first; the cause last, in parentheses.
  func systemText(about subject: String?) -> String {
    let cause = [call, String(cString: strerror(code))].compactMap { $0 }.joined(separator: ": ")
    let words = [subject, remedy].compactMap { $0 }
    return words.isEmpty ? cause : "\(words.joined(separator: ": ")) (\(cause))"
  }

  /// What helps whatever the call was about.
  private var remedy: String? {
    switch (call, code) {
    case ("inotify_add_watch", ENOSPC): "the user's watches are used up; raise fs.inotify.max_user_watches"
    case ("inotify_init1", EMFILE):
      "the user's instances (fs.inotify.max_user_instances) or the process's descriptors (RLIMIT_NOFILE) are used up"
    case ("epoll_ctl", ENOSPC): "the user's epoll watches are used up; raise fs.epoll.max_user_watches"
    case ("epoll_wait", EBADF), ("epoll_wait", EINVAL):
      "other code has closed the run loop's own descriptor (close, closefrom), and no new one could be made"
    case (_, EMFILE): "this process has as many descriptors as it may; close some, or raise RLIMIT_NOFILE"
    case (_, ENFILE): "the system has as many descriptors as it may; raise fs.file-max"
    default: nil
    }
  }
}

/// Words about a descriptor, for errors.
enum DescriptorWords {
  /// As in `descriptor 7 (/etc/hostname) is a regular file`.
  static func kind(of descriptor: Int32) -> String {
    var info = stat()
    guard fstat(descriptor, &info) == 0 else { return "descriptor \(descriptor) is not open" }
    let kind =
      switch info.st_mode & S_IFMT {
      case S_IFREG: "a regular file"
      case S_IFDIR: "a folder"
      case S_IFBLK: "a block device"
      case S_IFCHR: "a device without a queue to wait for"
      default: "of a kind that has nothing to wait for"
      }
    return "descriptor \(descriptor)\(path(of: descriptor)) is \(kind)"
  }

  /// Of a negative number.
  static func isNone(_ descriptor: Int32) -> String {
    "\(descriptor) is no descriptor; the call that returned it has failed"
  }

  static func isNotOpen(_ descriptor: Int32) -> String {
    "descriptor \(descriptor) is not open; it must stay open until its source has left its modes"
  }

  /// What epoll has against watching it.
  static func refusal(_ descriptor: Int32, _ error: Int32, isCounter: Bool) -> String {
    switch error {
    case EPERM:
      "\(kind(of: descriptor)), which epoll cannot watch; "
        + (isCounter
          ? "a PortSource takes an eventfd, a timerfd or a pipe"
          : "pass unpollable: .alwaysReady")
    case EBADF: isNotOpen(descriptor)
    case EINVAL, ELOOP: "descriptor \(descriptor) is the loop's own, or watches it"
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
