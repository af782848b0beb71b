internal import CRunLoopCore
import RunLoopKit

/// The bytes of memory files that were made for one connection and that the peer may not have taken yet: each small
/// packet may stand for a gigabyte. Guarded by the connection's `sending`.
struct UnreadFiles {
  private var sizes: ContiguousArray<Int> = []
  private var sum = 0
  /// Of files that are being made.
  private var reserved = 0

  /// A packet takes at least so much of the socket's memory while it is there.
  private static let leastOfPacket = 512

  /// False if there would be too many then. One file may be of any size if nothing else is there.
  mutating func reserve(_ size: Int, limit: Int, _ fileDescriptor: Int32) -> Bool {
    if sum > 0, sum + reserved + size > limit {
      forgetTaken(unread: rlc_message_socket_unread(fileDescriptor))
      if sum > 0, sum + reserved + size > limit { return false }
    }
    reserved += size
    return true
  }

  /// What was reserved is on its way, or will not be sent.
  mutating func settle(_ size: Int, isSent: Bool) {
    reserved -= size
    guard isSent else { return }
    sizes.append(size)
    sum += size
  }

  /// Packets are taken in their order: of the files only the last can be there still.
  private mutating func forgetTaken(unread: Int32) {
    let most = Int(max(unread, 0)) / UnreadFiles.leastOfPacket
    guard sizes.count > most else { return }
    sizes.removeFirst(sizes.count - most)
    sum = sizes.reduce(0, +)
  }
}
