internal import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

/// The folder of port names.
enum PortFolder {
  /// The caller's descriptor.
  /// - Throws: `.system`, whose words say which folder it is, why it is refused, and what to do.
  static func open() throws(RunLoopError) -> Int32 {
    let folder = rlc_port_folder_open()
    guard folder < 0 else { return folder }
    throw .system(-folder, "the folder of port names \(path) \(advice(-folder))")
  }

  static var path: String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
      rlc_port_folder_path(buffer.baseAddress!, buffer.count) < 0 ? "" : String(cString: buffer.baseAddress!)
    }
  }

  private static func advice(_ error: Int32) -> String {
    let (user, path) = (geteuid(), path)
    let other = "set XDG_RUNTIME_DIR, for all processes that use ports, to a folder that is only user \(user)'s"
    var status = stat()
    guard lstat(path, &status) == 0 else { return "cannot be made; make the folder around it, or \(other)" }
    guard status.st_mode & S_IFMT == S_IFDIR else { return "is no folder; remove it, or \(other)" }
    guard status.st_uid == user else { return "belongs to user \(status.st_uid), not to user \(user); \(other)" }
    if error == EPERM { return "is open to others (mode \(String(status.st_mode & 0o777, radix: 8))); chmod 700 it" }
    return "cannot be opened"
  }
}
