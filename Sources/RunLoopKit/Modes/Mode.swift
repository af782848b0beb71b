extension RunLoop {
  /// The name of a mode: a set of items that are served together. Equal by content, like the strings of the C model.
  public struct Mode: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name.
    public let rawValue: String

    /// Any name; equal names are one mode.
    @inlinable
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The same, as in `RunLoop.Mode(name)` [RLK-MODE-6].
    @inlinable
    public init(_ name: String) { rawValue = name }
    /// A name written in the source, as in `run(in: "panel")`.
    @inlinable
    public init(stringLiteral value: String) { rawValue = value }

    /// The mode of everyday work, common from the start.
    @inlinable
    public static var `default`: Mode { "kCFRunLoopDefaultMode" }
    /// The pseudo mode that stands for all common modes: items and blocks are added to it, no loop runs in it.
    @inlinable
    public static var common: Mode { "kCFRunLoopCommonModes" }
    /// The mode of user interaction. Common from the start on the main loop; on others after `addCommonMode(.tracking)`
    /// [RLK-MAIN-4].
    @inlinable
    public static var tracking: Mode { "UITrackingRunLoopMode" }

    /// The name.
    public var description: String { rawValue }

    /// True if the strings are the same characters at the same address: equal without a look at them.
    func isIdentical(to other: Mode) -> Bool {
      // A string is sixteen bytes on 64-bit platforms; of other sizes the compiler refuses the cast. Any bits are two
      // integers.
      unsafeBitCast(rawValue, to: (UInt64, UInt64).self) == unsafeBitCast(other.rawValue, to: (UInt64, UInt64).self)
    }
  }
}
