internal import CRunLoopCore
internal import RunLoopLibc

extension RunLoopError {
  /// Throws if a C status is negative; it is then `-errno`. `detail` is evaluated for a failure only.
  @inline(__always)
  @discardableResult
  package static func check(
    _ status: Int32, _ name: String, _ detail: @autoclosure () -> String? = nil
  ) throws(RunLoopError) -> Int32 {
    guard status >= 0 else { throw .system(-status, call: name, detail()) }
    return status
  }

  /// Checks the status of a function of the core that makes several system calls. The error names the one that failed.
  @inline(__always)
  @discardableResult
  package static func checkCore(
    _ status: Int32, _ detail: @autoclosure () -> String? = nil
  ) throws(RunLoopError) -> Int32 {
    guard status >= 0 else { throw .system(-status, call: failedCall, detail()) }
    return status
  }

  /// The system call that failed in this thread's last call of the core; nil if the core itself refused the arguments.
  package static var failedCall: String? { rlc_failed_call().map { String(cString: $0) } }

  /// Checks the result of a libc function, which returns -1 and sets `errno` if it fails.
  @discardableResult
  package static func checkErrno(
    _ answer: Int32, _ name: String, _ detail: @autoclosure () -> String? = nil
  ) throws(RunLoopError) -> Int32 {
    let error = RunLoopLibc.errno
    guard answer >= 0 else { throw .system(error, call: name, detail()) }
    return answer
  }

  /// Checks the result of a function that makes a descriptor. If its number is that of standard input, output or error,
  /// gives it another number (`rlc_descriptor_adopt`), as the core does with the descriptors that it makes.
  /// - Throws: `.system` with the function's name.
  package static func checkDescriptor(
    _ made: Int32, _ name: String, _ detail: @autoclosure () -> String? = nil
  ) throws(RunLoopError) -> Int32 {
    let descriptor = rlc_descriptor_adopt(made)
    return try check(descriptor, name, detail())
  }

  /// The text of an error: the subject and the remedy first, the cause last in parentheses.
  func systemText(about subject: String?) -> String {
    let cause = [call, String(cString: strerror(code))].compactMap { $0 }.joined(separator: ": ")
    let words = [subject, remedy].compactMap { $0 }
    return words.isEmpty ? cause : "\(words.joined(separator: ": ")) (\(cause))"
  }

  /// What helps against this error, whatever its subject.
  private var remedy: String? {
    switch (call, code) {
    case ("inotify_add_watch", ENOSPC): "the user's watches are used up; raise fs.inotify.max_user_watches"
    case ("inotify_init1", EMFILE):
      "the user's instances (fs.inotify.max_user_instances) or the process's descriptors "
        + "(\(ResourceLimit.descriptors)) are used up"
    case ("epoll_ctl", ENOSPC): "the user's epoll watches are used up; raise fs.epoll.max_user_watches"
    case ("pthread_create", EAGAIN):
      "no more threads may be made (\(ResourceLimit.processes); kernel.threads-max, pids.max of the control group), or "
        + "there is no memory for one"
    case ("posix_spawnp", EAGAIN):
      "no more processes may be made (\(ResourceLimit.processes); kernel.pid_max, pids.max of the control group)"
    case ("sendmsg", ETOOMANYREFS):
      "the user has sent more descriptors that were not received yet than one process may have "
        + "(\(ResourceLimit.descriptors))"
    case (_, EMFILE):
      "this process has as many descriptors as it may; close some, or raise the limit (\(ResourceLimit.descriptors))"
    case (_, ENFILE): "the system has as many descriptors as it may; raise fs.file-max"
    default: nil
    }
  }

  /// The error of a run that ends because no run can wait in the mode any more.
  static func wait(_ errno: Int32) -> RunLoopError {
    let isClosed = errno == EBADF || errno == EINVAL
    return .system(
      errno, call: "epoll_wait",
      isClosed
        ? "other code has closed the run loop's own descriptor (close, closefrom), and no new one could be made"
        : nil)
  }
}

/// The limits that errors name, with their current values.
private enum ResourceLimit {
  // The limits are given as numbers, because each C library has its own type for the constants.
  static var descriptors: String { "RLIMIT_NOFILE is \(words(7))" }
  static var processes: String { "RLIMIT_NPROC is \(words(6))" }

  private static func words(_ resource: Int) -> String {
    var limit = rlimit()
    _ = getrlimit(.init(resource), &limit)  // cannot fail: the limit is known
    return limit.rlim_cur == rlim_t.max ? "unlimited" : "\(limit.rlim_cur)"
  }
}
