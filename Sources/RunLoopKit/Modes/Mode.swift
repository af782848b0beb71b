extension RunLoop {
  /// The name of a mode: a set of items that are served together. Equal by content, like the strings of the C model.
  public struct Mode: Hashable, Sendable, RawRepresentable, ExpressibleByStringLiteral, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }
    public init(stringLiteral value: String) { rawValue = value }

    /// The mode of everyday work; the only one that is common from the start.
    public static let `default` = Mode(rawValue: "kCFRunLoopDefaultMode")
    /// The pseudo mode that stands for all common modes: items and blocks are added to it, no loop runs in it.
    public static let common = Mode(rawValue: "kCFRunLoopCommonModes")
    /// The mode of user interaction. Not common by itself: `makeCommon(.tracking)`.
    public static let tracking = Mode(rawValue: "UITrackingRunLoopMode")

    public var description: String { rawValue }
  }
}
