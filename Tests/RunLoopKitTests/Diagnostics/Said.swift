import Glibc
import RunLoopKit

import class RunLoopKit.RunLoop

/// The kit's lines on standard error while `body` runs, on a thread whose loop is made meanwhile.
func said(on isOn: Bool = true, _ body: @escaping () throws -> Void) -> [String] {
  var path = Array("/tmp/stderr-XXXXXX".utf8CString)
  let (file, kept) = (mkstemp(&path), dup(STDERR_FILENO))
  unlink(path)
  dup2(file, STDERR_FILENO)
  RunLoop.diagnostics.level = isOn ? .hint : .warning
  onThread(body)
  RunLoop.diagnostics.level = .warning
  dup2(kept, STDERR_FILENO)
  var bytes = [UInt8](repeating: 0, count: 65536)
  let count = pread(file, &bytes, bytes.count, 0)
  close(kept)
  close(file)
  return String(decoding: bytes[..<max(count, 0)], as: UTF8.self).split(separator: "\n").map(String.init)
    .filter { $0.hasPrefix("RunLoopKit: ") }
}
