import RunLoopKit

extension RunLoop {
  /// A connection that a port has refused, or has ended because its peer violated the protocol; or a refused message or
  /// introduction of a connection that continues.
  public struct Refusal: Sendable, Hashable, CustomStringConvertible {
    /// The process that was refused; nil if the kernel does not know it.
    public let peer: Message.Sender?
    /// The reason in words. A port that refuses or ends a connection also sends this text to the peer.
    public let reason: String

    /// The peer and the reason.
    public var description: String { "\(peer.map { "\($0)" } ?? "unknown process"): \(reason)" }
  }
}
