extension RunLoop {
  /// A callout that has taken longer than `reportSlowCallouts(longerThan:to:)` allows.
  public struct SlowCallout: Hashable, Sendable, CustomStringConvertible {
    /// What was called.
    public enum Kind: Hashable, Sendable {
      /// A block, also one for when the loop is idle.
      case block
      /// A signalled source.
      case source
      /// A port, with a message; also a connection between processes, with what it does for itself.
      case port
      /// A port source.
      case portSource
      /// A descriptor source.
      case descriptorSource
      /// A signal source, a child source, a file watch or a memory pressure source.
      case eventSource
      /// A timer; also what delays and patterns do by timers.
      case timer
      /// An observer; also what patterns do by observers.
      case observer
      /// A turn of the main dispatch queue.
      case mainQueue
    }

    /// What was called.
    public let kind: Kind
    /// The item's label, or its description if it has none; "block"; "main queue".
    public let name: String
    /// The mode in which the loop has called it.
    public let mode: Mode
    /// What it has taken itself, waits for other threads and the kernel included; runs that it has begun, and callouts
    /// inside of it, are left out.
    public let duration: Duration

    /// All of it in a line.
    public var description: String { "\(name) took \(duration) in mode \(mode.rawValue)" }
  }
}
