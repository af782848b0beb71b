internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

/// The folder of port names.
enum PortFolder {
  /// Opens the folder. The caller owns the descriptor.
  /// - Throws: `.system`. Its description names the folder, why it is refused, and what to do.
  static func open() throws(RunLoopError) -> Int32 {
    let folder = rlc_port_folder_open()
    guard folder < 0 else { return folder }
    let call = RunLoopError.failedCall
    throw .system(-folder, call: call, words(call, -folder))
  }

  /// True if the folder's sockets can be reached by a path through /proc/self/fd: its descriptor is open, and /proc is
  /// mounted.
  static func isReached(_ folder: Int32) -> Bool {
    let (error, isThere) = (errno, access("/proc/self/fd/\(folder)", F_OK) == 0)
    errno = error
    return isThere
  }

  static var path: String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
      rlc_port_folder_path(buffer.baseAddress!, buffer.count) < 0 ? "" : String(cString: buffer.baseAddress!)
    }
  }

  /// - Parameter call: The call that has failed; nil if none has, but the path is too long or the folder is not this
  ///   user's alone.
  private static func words(_ call: String?, _ error: Int32) -> String {
    let (user, path) = (geteuid(), path)
    let folder = "the folder of port names \(path)"
    let other = "set XDG_RUNTIME_DIR, for all processes that use ports, to a folder that is only user \(user)'s"
    var status = stat()
    switch (call, error) {
    case (nil, ENAMETOOLONG): return "the path of the folder of port names is too long; \(other)"
    case ("mkdir", ENOENT): return "\(folder) cannot be made; make the folder around it, or \(other)"
    case ("mkdir", EACCES), ("mkdir", EPERM), ("mkdir", EROFS), ("mkdir", ENOTDIR):
      return "\(folder) cannot be made; \(other)"
    case ("mkdir", _): return "\(folder) cannot be made"
    case ("open", ENOTDIR), ("open", ELOOP): return "\(folder) is no folder; remove it, or \(other)"
    default: break
    }
    guard lstat(path, &status) == 0 else { return folder }
    if status.st_uid != user { return "\(folder) belongs to user \(status.st_uid), not to user \(user); \(other)" }
    guard call == nil else { return folder }
    return "\(folder) is open to others (mode \(String(status.st_mode & 0o777, radix: 8))); chmod 700 it"
  }
}
