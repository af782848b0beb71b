import CFailingLibc
import CTestSupport
import Glibc

/// Real limits: the process has so many descriptors and no more, may make no thread or process, or has no /proc.
enum Limits {
  static func complaints() -> [String] {
    Operation.all.flatMap { withFewDescriptors($0) + withoutThreads($0) + withoutProc($0) + withoutWaits($0) }
  }

  /// The thread that the library has for itself loses its loop: there is another one when it is needed again.
  private static func withoutWaits(_ operation: Operation) -> [String] {
    guard operation.name == "observe the end of a right" else { return [] }
    var others = 0
    let report = Attempt.run(
      operation, Plan(call: "epoll_wait elsewhere", number: -1, error: EBADF), limit: { others = threadCount() },
      await: { while threadCount() > others { sched_yield() } })
    return report.again == .works ? [] : ["\(operation.name) when the I/O thread has ended: \(report.again)"]
  }

  /// Of this process. A thread is counted until the system has ended it.
  private static func threadCount() -> Int {
    guard let folder = opendir("/proc/self/task") else { preconditionFailure("no /proc") }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    return count
  }

  private static func set(_ resource: __rlimit_resource, _ value: rlim_t) {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    limit.rlim_cur = value
    let status = setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    precondition(status == 0)
  }

  /// Each number of descriptors that is left, from none on, until the operation succeeds.
  private static func withFewDescriptors(_ operation: Operation) -> [String] {
    let usual = Attempt.run(operation, nil)
    guard usual.result == .works else { return [] }
    for left in 0..<40 {
      let report = Attempt.run(
        operation, nil, limit: { set(RLIMIT_NOFILE, rlim_t(Int(firstFree()) + left)) },
        unlimit: { set(RLIMIT_NOFILE, 1024) })
      let found = complaints(report, usual, error: EMFILE, "RLIMIT_NOFILE is ", operation)
      if !found.isEmpty { return found.map { "\(operation.name) with \(left) descriptors: \($0)" } }
      if report.result == .works { return [] }
    }
    return ["\(operation.name): does not succeed with 40 descriptors"]
  }

  /// The lowest number that the operation can get.
  private static func firstFree() -> Int32 {
    let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
    close(descriptor)
    return descriptor
  }

  private static func withoutThreads(_ operation: Operation) -> [String] {
    let isOfIt = operation.name.hasPrefix("start a thread") || operation.name.hasPrefix("spawn")
    guard geteuid() == 0, isOfIt else { return [] }
    let usual = Attempt.run(operation, nil)
    let report = Attempt.run(
      operation, nil,
      limit: { precondition(failing_libc_forbid_processes(1) == 1) },
      unlimit: { precondition(failing_libc_forbid_processes(0) == 1) })
    let found = complaints(report, usual, error: EAGAIN, "RLIMIT_NPROC is ", operation)
    let refused = report.result == .works ? ["the limit has no effect"] : []
    return (found + refused).map { "\(operation.name) without processes: \($0)" }
  }

  private static func complaints(
    _ report: Report, _ usual: Report, error: Int32, _ words: String, _ operation: Operation
  ) -> [String] {
    var found: [String] = []
    switch report.result {
    case .works: break
    case .ended: return ["\(report.result)"]
    case .threw(_, let number, let text):
      if operation.isReported { break }
      if number != error || !text.contains(words) || !text.hasSuffix(": \(String(cString: strerror(error))))") {
        found.append("\(text)")
      }
    }
    if report.again != .works { found.append("tried again: \(report.again)") }
    if report.descriptors != usual.descriptors {
      found.append("\(report.descriptors) descriptors are open afterwards, else \(usual.descriptors)")
    }
    if report.files != usual.files { found.append("files that are left: \(report.files)") }
    return found
  }

  /// Ports with names need /proc, and say so.
  private static func withoutProc(_ operation: Operation) -> [String] {
    let needsIt = ["register a port", "observe the loss of a name", "connect to a port"]
    guard needsIt.contains(operation.name) else { return [] }
    guard Attempt.run(Operation("try") { _ in if test_own_mounts() == 0 { _exit(1) } }, nil).result == .works else {
      ErrorTexts.say("skipped: \(operation.name) without /proc: no mounts of its own")
      return []
    }
    let report = Attempt.run(
      operation, nil, limit: { precondition(test_own_mounts() == 1 && test_mount("/proc") == 1) },
      unlimit: { precondition(test_unmount("/proc") == 1) })
    var found: [String] = []
    if case .threw(_, ENOENT, let text) = report.result {
      if !text.contains("/proc/self/fd, which is not there (") { found.append(text) }
    } else {
      found.append("\(report.result)")
    }
    if report.again != .works { found.append("tried again: \(report.again)") }
    if !report.files.isEmpty { found.append("files that are left: \(report.files)") }
    return found.map { "\(operation.name) without /proc: \($0)" }
  }
}
