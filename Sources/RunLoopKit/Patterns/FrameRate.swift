extension RunLoop {
  /// A number of frames in a duration, such as 60 in a second, or 30,000 in 1,001 seconds. The rate is exact: the
  /// duration of a single frame is never rounded.
  public struct FrameRate: Hashable, Sendable, CustomStringConvertible {
    /// The number of frames in `duration`: 1 to 1,000,000,000.
    public let frames: Int
    /// The duration of `frames` frames: at least a nanosecond for each, at most about 100 days.
    public let duration: Duration

    /// Creates a rate, limited to the ranges of the properties. Less than one frame counts as one; a duration that is
    /// zero or negative counts as one nanosecond for each frame.
    public init(frames: Int, per duration: Duration = .seconds(1)) {
      self.frames = max(1, min(frames, 1_000_000_000))
      self.duration = max(.nanoseconds(self.frames), min(duration, .seconds(10_000_000)))
      if self.frames != frames || self.duration != duration {
        Diagnosis.hint("FrameRate: \(frames) frames per \(duration) count as \(self)")
      }
    }

    /// For example `60 frames per 1.0 seconds`.
    public var description: String { "\(frames) frames per \(duration)" }
  }
}
