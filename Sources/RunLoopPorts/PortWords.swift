import RunLoopKit
internal import RunLoopLibc

/// Texts about names, for errors.
enum PortWords {
  /// The error of a core function for names that has just failed. Call it while the folder is open.
  static func failure(of name: String, in folder: Int32, _ status: Int32) -> RunLoopError {
    let call = RunLoopError.failedCall
    let takesPath = call == "bind" || call == "connect" || call == "inotify_add_watch"
    let lacksProc = takesPath && status == -ENOENT && !PortFolder.isReached(folder)
    return .system(
      -status, call: call,
      lacksProc ? "\(port(name)): its socket is reached through /proc/self/fd, which is not there" : port(name))
  }

  static func port(_ name: String) -> String { "the port \"\(name)\"" }
  static func quoted(_ name: String) -> String { "\"\(name)\"" }
}
