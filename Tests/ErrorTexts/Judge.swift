import Glibc

/// What is wrong with a report.
enum Judge {
  /// The system's refusals that have a name in the library, or are reported as the answer that they amount to: of which operation
  /// the call's errors become that one. Everything else must come as it is.
  private static let translations: [(call: String, errors: [Int32], text: String)] = [
    ("connect", [ECONNREFUSED, ENOENT, EPROTOTYPE], "no port is registered as"),
    ("connect", [EAGAIN], "is full: its owner has not taken the connections that wait"),
    ("connect", [EAGAIN], "another port is registered as"),
    ("sendmsg", [EPIPE, ECONNRESET], "the port is gone, or the last loop that served it has ended"),
    ("sendmsg", [EAGAIN], "the connection has no room for the message"),
    ("sendmsg", [EMSGSIZE], "the message makes a packet that is larger than the connection takes"),
    // There is no such process, as /proc is there.
    ("open", [ENOENT], "has ended"),
    // Of a registration that is changed: the number was closed, and may be another file's by now.
    ("epoll_ctl", [ENOENT, EPERM], "was closed"),
    // Of a registration of the loop's own: its descriptor was closed, and there is a new one.
    ("epoll_ctl", [EBADF, ELOOP, EPERM], "a new one has its place"),
    // Another process has put a file in the place of the socket.
    ("bind", [EADDRINUSE], "Device or resource busy"),
    ("fstatat", [ENOENT], "Device or resource busy"),
  ]

  static func complaints(about report: Report, _ plan: Plan, _ operation: Operation, _ usual: Report) -> [String] {
    var found: [String] = []
    if case .threw(let call, let error, let text) = report.result, report.hasFailed {
      found += complaints(about: text, call, error, plan, operation)
    }
    if case .ended = report.result { return ["\(report.result)"] }
    if report.again != .works { found.append("tried again: \(report.again)") }
    if report.descriptors != usual.descriptors + (isLoss(plan) ? 1 : 0), report.descriptors != usual.descriptors {
      found.append("\(report.descriptors) descriptors are open afterwards, else \(usual.descriptors)")
    }
    if report.files != usual.files { found.append("files that are left: \(report.files)") }
    return found
  }

  /// The call says that other code has closed a descriptor of the loop's own, or has put another file there: the loop
  /// makes a new one, and does not close the number, which may be another file's.
  private static func isLoss(_ plan: Plan) -> Bool {
    switch plan.call {
    case "epoll_ctl": [EBADF, EINVAL, ELOOP, ENOENT, EPERM].contains(plan.error)
    case "timerfd_settime": plan.error == EINVAL
    default: false
    }
  }

  private static func complaints(
    about text: String, _ call: String?, _ error: Int32?, _ plan: Plan, _ operation: Operation
  ) -> [String] {
    let isTranslated = translations.contains {
      $0.call == plan.call && $0.errors.contains(plan.error) && text.contains($0.text)
    }
    var found: [String] = []
    let cause = "\(plan.call): \(String(cString: strerror(plan.error)))"
    if !isTranslated, !text.hasSuffix("(\(cause))"), text != cause, !operation.reports(cause, in: text) {
      found.append("not \"\(cause)\": \(text)")
    }
    if !isTranslated, !operation.isReported, call != plan.call || error != plan.error {
      found.append("the error has the call \(call ?? "none") and the number \(error ?? 0)")
    }
    for other in Errnos.calls where other != plan.call {
      // As the cause that ends a text.
      if text.hasPrefix("\(other): ") || text.contains("(\(other): ") { found.append("it names \(other): \(text)") }
    }
    return found
  }
}

/// Texts without what differs from run to run.
enum Words {
  static func plain(_ text: String, _ folder: String) -> String {
    var plain = text.replacing(folder, with: "FOLDER").replacing("user \(geteuid())", with: "user USER")
    for word in ["descriptor ", "process ", "RLIMIT_NOFILE is ", "RLIMIT_NPROC is ", "/proc/"] {
      plain = withoutNumbers(after: word, in: plain)
    }
    return plain
  }

  private static func withoutNumbers(after word: String, in text: String) -> String {
    let parts = text.split(separator: word, omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(String(parts[0])) { plain, part in
      let rest = part.hasPrefix("unlimited") ? part.dropFirst(9) : part.drop { $0.isNumber }
      return plain + word + (rest.count < part.count ? "N" : "") + rest
    }
  }
}
