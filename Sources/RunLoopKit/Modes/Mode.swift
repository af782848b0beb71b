extension RunLoop {
  /// The name of a mode, which is a set of items that a run serves together. Names are equal by content, like the
  /// strings of CFRunLoop.
  ///
  /// ```swift
  /// let loop = RunLoop.current
  /// let panel: RunLoop.Mode = "panel"
  /// let timer = RunLoop.Timer(after: .zero) { _ in print("in the panel") }  // prints in the panel
  /// try loop.add(timer, to: panel)
  /// print(try loop.run(in: panel))  // prints finished
  /// ```
  public struct Mode: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name.
    public let rawValue: String

    /// Takes any name. Equal names are one mode.
    @inlinable
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Does what `init(rawValue:)` does, for calls such as `RunLoop.Mode(name)` [RLK-MODE-6].
    @inlinable
    public init(_ name: String) { rawValue = name }
    /// A name written in the source, as in `run(in: "panel")`.
    @inlinable
    public init(stringLiteral value: String) { rawValue = value }

    /// The mode of everyday work, common from the start.
    @inlinable
    public static var `default`: Mode { "kCFRunLoopDefaultMode" }
    /// The pseudo mode that stands for all common modes. Items and blocks can be added to it; no loop runs in it.
    @inlinable
    public static var common: Mode { "kCFRunLoopCommonModes" }
    /// The mode of user interaction. Common from the start on the main loop; on others after `addCommonMode(.tracking)`
    /// [RLK-MAIN-4].
    @inlinable
    public static var tracking: Mode { "UITrackingRunLoopMode" }

    /// The name.
    public var description: String { rawValue }

    /// True if the two strings have the same bits. Such strings are equal, so no characters have to be compared.
    func isIdentical(to other: Mode) -> Bool {
      // A string has 16 bytes on 64-bit platforms, and any 16 bytes are two valid integers. If the sizes differed, the
      // compiler would refuse the cast.
      unsafeBitCast(rawValue, to: (UInt64, UInt64).self) == unsafeBitCast(other.rawValue, to: (UInt64, UInt64).self)
    }
  }
}
