internal import CRunLoopCore
import RunLoopKit

/// Counts the bytes of memory files that were sent on one connection and that the peer may not have taken yet. They
/// must be limited, because a small packet may carry a gigabyte. Guarded by the connection's `sending`.
struct UnreadFiles {
  private var sizes: ContiguousArray<Int> = []
  private var sum = 0
  /// The bytes of files that are being made.
  private var reserved = 0

  /// An unread packet takes at least this many bytes of the socket's memory.
  private static let leastOfPacket = 512

  /// Reserves a file's bytes. False if that would exceed the limit. A single file may have any size if nothing else is
  /// unread.
  mutating func reserve(_ size: Int, limit: Int, _ fileDescriptor: Int32) -> Bool {
    if sum > 0, sum + reserved + size > limit {
      forgetTaken(unread: rlc_message_socket_unread(fileDescriptor))
      if sum > 0, sum + reserved + size > limit { return false }
    }
    reserved += size
    return true
  }

  /// Ends a reservation: the file was sent, or will not be sent.
  mutating func settle(_ size: Int, isSent: Bool) {
    reserved -= size
    guard isSent else { return }
    sizes.append(size)
    sum += size
  }

  /// Forgets files that the peer has taken. The peer takes packets in order, so only the last ones can be unread.
  private mutating func forgetTaken(unread: Int32) {
    let most = Int(max(unread, 0)) / UnreadFiles.leastOfPacket
    guard sizes.count > most else { return }
    sizes.removeFirst(sizes.count - most)
    sum = sizes.reduce(0, +)
  }
}
