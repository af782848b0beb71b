import Glibc

/// The few file operations that the tests need.
enum Files {
  /// Nil if it cannot be read.
  static func text(of path: String) -> String? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var text: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { text += chunk[..<count] }
    return String(decoding: text, as: UTF8.self)
  }

  /// Sorted; empty if there is no such directory.
  static func names(in directory: String, endingIn suffix: String) -> [String] {
    guard let handle = opendir(directory) else { return [] }
    defer { closedir(handle) }
    var names: [String] = []
    while let entry = readdir(handle) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.hasSuffix(suffix) { names.append(String(name.dropLast(suffix.count))) }
    }
    return names.sorted()
  }

  /// Calls `body` with the path of a file that holds the text, and removes it.
  static func withTemporaryFile<R>(_ text: String, _ body: (String) -> R) -> R {
    var path = Array("/tmp/scenario-XXXXXX.rl".utf8CString)
    let descriptor = mkstemps(&path, 3)
    precondition(descriptor >= 0, "mkstemps: error \(errno)")
    let name = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { unlink(name) }
    let bytes = Array(text.utf8)
    precondition(write(descriptor, bytes, bytes.count) == bytes.count, "write: error \(errno)")
    close(descriptor)
    return body(name)
  }
}
