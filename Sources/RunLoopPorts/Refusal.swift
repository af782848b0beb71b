import RunLoopKit

extension RunLoop {
  /// A connection that a port has refused, or has ended because its peer broke the rules; or a refused message or
  /// introduction of a connection that goes on.
  public struct Refusal: Sendable, Hashable, CustomStringConvertible {
    /// The process that was refused; nil if the kernel does not know it.
    public let peer: Message.Sender?
    /// The reason in words; the peer gets the same text.
    public let reason: String

    /// Both.
    public var description: String { "\(peer.map { "\($0)" } ?? "unknown process"): \(reason)" }
  }
}
