import RunLoopKit
internal import RunLoopLibc

/// Paths as bytes, as the system has them.
enum SystemPath {
  static func text(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

  static func check(_ path: [UInt8], mask: UInt32) throws(RunLoopError) {
    if path.isEmpty { throw .system(ENOENT, "the path is empty") }
    if let zero = path.firstIndex(of: 0) { throw .system(EINVAL, "\(text(path)): byte \(zero) of the path is zero") }
    if mask == 0 { throw .system(EINVAL, "\(text(path)): no event to watch for was named") }
  }
}
