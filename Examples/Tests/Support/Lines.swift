import Glibc

/// Lines from a pipe or a socket. Waits for them, but not for ever.
package final class Lines {
  package struct Silence: Error {}

  package let descriptor: Int32
  private var buffer: [UInt8] = []
  private var start = 0
  private var hasEnded = false

  /// Takes the descriptor over.
  package init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Nil at the end; a last line without its newline is none.
  package func next() throws -> String? { try nextBytes().map { String(decoding: $0, as: UTF8.self) } }

  package func nextBytes() throws -> [UInt8]? {
    var searched = 0
    while true {
      if let newline = newline(from: start + searched) {
        defer { start = newline + 1 }
        return Array(buffer[start..<newline])
      }
      searched = buffer.count - start
      guard try fill() else { return nil }
    }
  }

  /// The next one that has these words; nil at the end.
  package func next(containing words: String) throws -> String? {
    while let line = try next() { if line.contains(words) { return line } }
    return nil
  }

  /// All that comes, to the end.
  package func rest() throws -> [String] {
    var lines: [String] = []
    while let line = try next() { lines.append(line) }
    return lines
  }

  private func newline(from offset: Int) -> Int? {
    buffer.withUnsafeBytes { bytes in
      guard offset < bytes.count else { return nil }
      return memchr(bytes.baseAddress! + offset, 10, bytes.count - offset).map {
        UnsafeRawPointer($0) - bytes.baseAddress!
      }
    }
  }

  /// True when there is something to read, or the end, within the time.
  package func isReadable(within milliseconds: Int32) -> Bool {
    if start < buffer.count { return true }
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, milliseconds) > 0
  }

  /// False at the end; a connection that was reset has ended, too.
  private func fill() throws -> Bool {
    guard !hasEnded else { return false }
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, 60_000) > 0 else { throw Silence() }
    if start > 1 << 20 {
      buffer.removeFirst(start)
      start = 0
    }
    let count = withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { chunk in
      let count = read(descriptor, chunk.baseAddress, chunk.count)
      if count > 0 { buffer += chunk[..<count] }
      return count
    }
    hasEnded = count <= 0
    return count > 0
  }
}
