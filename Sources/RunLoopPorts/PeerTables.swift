import RunLoopKit

/// What a port's connections hold, as tests of leaks count it.
package struct PeerTables: Sendable, Hashable {
  /// That the port's loops read: of its peers, and introduced by them.
  package var connections = 0
  /// Ports and answers that peers have rights to.
  package var exports = 0
  /// Peers' ports, and answers to them, that this process has rights to.
  package var imports = 0
}

extension RunLoop.Port {
  /// All connections that read for this port. - Thread: Any. - Complexity: O(connections and their entries).
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
