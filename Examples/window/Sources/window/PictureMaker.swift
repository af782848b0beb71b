import RunLoopKit
import XWindow

/// Makes pictures on a thread of its own, one after the other.
final class PictureMaker: Sendable {
  static let size = Size(40, 40)
  private let thread = RunLoop.Thread(name: "pictures")

  init() throws { try thread.start() }

  /// - Parameters:
  ///   - isMade: Called on the main loop as soon as the picture is there, whatever the user does.
  ///   - show: Called in the default mode only: what is dragged is not disturbed.
  func make(
    _ number: Int, isMade: @escaping @MainActor @Sendable () -> Void,
    show: @escaping @MainActor @Sendable (Picture) -> Void
  ) throws {
    try thread.perform {
      let picture = Self.picture(number)
      do {
        try RunLoop.main.perform(in: .common) { MainActor.assumeIsolated { isMade() } }
        try RunLoop.main.perform(in: .default) { MainActor.assumeIsolated { show(picture) } }
      } catch {
        Report.failure(error)
      }
    }
  }

  func end() throws {
    thread.stop()
    try thread.join()
  }

  /// A sun over hills, each in other colours.
  private static func picture(_ number: Int) -> Picture {
    let hue = number * 47 % 256
    return Picture(size) { x, y in
      let (dx, dy) = (x - 12 - number * 5 % 18, y - 13)
      if dx * dx + dy * dy < 36 { return Color(0xFFE9A8) }
      let hill = 24 + (x + number * 7) % 40 / 6 - (x * x) / 160
      if y > hill { return Color(UInt32(30 + hue / 6) << 16 | UInt32(96 + hue / 4 - y) << 8 | UInt32(88 - hue / 8)) }
      return Color(UInt32(60 + hue / 3 + y * 2) << 16 | UInt32(110 + y * 2) << 8 | UInt32(230 - hue / 4))
    }
  }
}
