internal import RunLoopKit
internal import Synchronization

/// The hosts that are attached to each loop.
enum Hosts {
  /// Hosts are used on their loop's thread only; the lock guards the table.
  private struct Member: @unchecked Sendable {
    let host: NIOHost
  }

  private static let members = Mutex<[ObjectIdentifier: [Member]]>([:])

  static func of(_ loop: RunLoop) -> [NIOHost] {
    members.withLock { $0[ObjectIdentifier(loop)] ?? [] }.map(\.host)
  }

  static func add(_ host: NIOHost) {
    let (loop, member) = (ObjectIdentifier(host.loop), Member(host: host))
    members.withLock { $0[loop, default: []].append(member) }
  }

  static func remove(_ host: NIOHost) {
    let (loop, member) = (ObjectIdentifier(host.loop), Member(host: host))
    members.withLock { members in
      members[loop]?.removeAll { $0.host === member.host }
      if members[loop]?.isEmpty == true { members[loop] = nil }
    }
  }
}
