import RunLoopKit

/// The sizes of a port's connection tables, for tests of leaks.
package struct PeerTables: Sendable, Hashable {
  /// Connections that the port's loops read: those of its peers, and those that peers have introduced.
  package var connections = 0
  /// Ports and answers that peers have rights to.
  package var exports = 0
  /// Ports and answers of peers to which this process has rights.
  package var imports = 0
}

extension RunLoop.Port {
  /// Counts over all connections that receive for this port. - Thread: Any. - Complexity: O(connections and their
  /// entries).
  package var peerTables: PeerTables {
    var tables = PeerTables()
    for case let channel as Channel in mailbox.connections?.all ?? [] {
      tables.connections += 1
      tables.exports += channel.sending.withLock { channel.exports.count }
      tables.imports += channel.importing.withLock { channel.imports.count }
    }
    return tables
  }
}
