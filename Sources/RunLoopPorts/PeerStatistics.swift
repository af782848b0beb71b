import RunLoopKit

extension RunLoop {
  /// What the peers of a named port hold, and what was refused to them.
  public struct PeerStatistics: Sendable, Hashable, CustomStringConvertible {
    /// Connections that are open now.
    public internal(set) var connections = 0
    /// Introductions that count against the limit `PeerLimits.introductions` now.
    public internal(set) var introductions = 0
    /// Send rights that count against the limit `PeerLimits.rights` now.
    public internal(set) var rights = 0
    /// Descriptors in messages that wait for delivery now.
    public internal(set) var undeliveredDescriptors = 0
    /// Bytes of peers' memory files that are mapped now.
    public internal(set) var mappedBytes = 0
    /// Connections that the port has not accepted, or has ended because the peer violated the protocol.
    public internal(set) var refusedConnections = 0
    /// Messages that were refused because of a limit or a lack of descriptors; their connections continued.
    public internal(set) var refusedMessages = 0
    /// Introductions that were refused because of their limit; their connections continued.
    public internal(set) var refusedIntroductions = 0

    init() {}

    /// All numbers, in one line.
    public var description: String {
      "connections \(connections), introductions \(introductions), rights \(rights), undelivered descriptors "
        + "\(undeliveredDescriptors), mapped bytes \(mappedBytes); refused: connections \(refusedConnections), messages "
        + "\(refusedMessages), introductions \(refusedIntroductions)"
    }
  }
}
