import RunLoopKit

extension RunLoop {
  /// How much peers may make this process hold. The port refuses what would exceed a limit, reports the reason
  /// (`onRefusal`) and counts the refusal (`Port.peerStatistics`); an open connection continues. Refused things count
  /// against no limit [RLK-PEER-38].
  ///
  /// The processes of this process's own user are a peer each. All processes of another user are one peer. Numbers
  /// below 0 count as 0.
  public struct PeerLimits: Sendable, Hashable {
    /// Open connections. If there is one more, the port sends the reason on it, and closes it [RLK-PEER-20].
    public var connections: Int
    /// Connections that the peer has introduced, and whose other end has not sent anything yet. The peer introduces one
    /// when it passes a right to this process's port on to a third process, or sends this process a right to a third
    /// process's port. A right beyond the limit is invalid for its receiver; the peer keeps its own connection
    /// [RLK-PEER-21].
    public var introductions: Int
    /// Rights to the peer's ports, and to answer it, that this process holds. The first 64 of each connection do not
    /// count. The number of the others is rounded up to a multiple of 64. The port refuses a message with one more. If
    /// this message is a request or an answer, the request throws `.noReply` [RLK-PEER-22].
    public var rights: Int
    /// Descriptors in messages that wait in queues. The port refuses a message with one more [RLK-PEER-23].
    public var undeliveredDescriptors: Int
    /// Bytes of peers' memory files that this process has mapped; they count until the last reference is released. The
    /// port refuses a message with one more [RLK-PEER-24]. A file may have holes; reading it allocates the memory.
    public var mappedBytes: Int

    /// Creates limits. A negative number counts as 0, which allows none.
    public init(
      connections: Int = PeerLimits.defaultPerPeer.connections,
      introductions: Int = PeerLimits.defaultPerPeer.introductions,
      rights: Int = PeerLimits.defaultPerPeer.rights,
      undeliveredDescriptors: Int = PeerLimits.defaultPerPeer.undeliveredDescriptors,
      mappedBytes: Int = PeerLimits.defaultPerPeer.mappedBytes
    ) {
      self.connections = connections
      self.introductions = introductions
      self.rights = rights
      self.undeliveredDescriptors = undeliveredDescriptors
      self.mappedBytes = mappedBytes
    }

    /// The default limits of one peer: 256 connections, 128 introductions, 16,384 rights, 1,024 undelivered
    /// descriptors, 4 GiB mapped.
    public static let defaultPerPeer = PeerLimits(
      connections: 256, introductions: 128, rights: 1 << 14, undeliveredDescriptors: 1024, mappedBytes: 1 << 32)

    /// The default limits of all peers of a port together: four times those of one peer.
    public static let defaultPerPort = PeerLimits(
      connections: 1024, introductions: 512, rights: 1 << 16, undeliveredDescriptors: 4096, mappedBytes: 1 << 34)

    subscript(_ thing: PeerAccount.Thing) -> Int {
      switch thing {
      case .connection: max(connections, 0)
      case .introduction: max(introductions, 0)
      case .right: max(rights, 0)
      case .descriptor: max(undeliveredDescriptors, 0)
      case .mappedByte: max(mappedBytes, 0)
      }
    }
  }
}
