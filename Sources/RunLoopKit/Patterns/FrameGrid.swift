extension RunLoop {
  /// How many frames there are in a duration: 60 in a second, or 30 000 in 1001 seconds. The rate is exact: nothing is
  /// rounded to a duration of one frame.
  public struct FrameRate: Hashable, Sendable, CustomStringConvertible {
    /// The number of frames in `duration`: 1 to 1,000,000,000.
    public let frames: Int
    /// The duration of `frames` frames: at least a nanosecond for each, at most about 100 days.
    public let duration: Duration

    /// Creates a rate, limited to the ranges of the properties: less than one frame counts as one, a duration that is
    /// zero or negative as a nanosecond for each frame.
    public init(frames: Int, per duration: Duration = .seconds(1)) {
      self.frames = max(1, min(frames, 1_000_000_000))
      self.duration = max(.nanoseconds(self.frames), min(duration, .seconds(10_000_000)))
      if self.frames != frames || self.duration != duration {
        Diagnosis.hint("FrameRate: \(frames) frames per \(duration) count as \(self)")
      }
    }

    /// As `60 frames per 1.0 seconds`.
    public var description: String { "\(frames) frames per \(duration)" }
  }
}

/// Where frames lie in time, as pure arithmetic on nanoseconds: frame n at phase + n * duration / frames, rounded up,
/// so that rounding never adds up.
struct FrameGrid {
  let phase: UInt64
  private let frames: UInt64
  private let duration: UInt64

  init(phase: UInt64, rate: RunLoop.FrameRate) {
    self.phase = phase
    frames = UInt64(rate.frames)
    duration = rate.duration.nanosecondsRoundedUp
  }

  func date(of frame: UInt64) -> UInt64 {
    let product = frame.multipliedFullWidth(by: duration)
    guard product.high < frames else { return Time.forever }
    let (offset, rest) = frames.dividingFullWidth(product)
    return Time.add(phase, Time.add(offset, rest > 0 ? 1 : 0))
  }

  /// The last frame whose date has come; 0 before the first.
  func frame(at now: UInt64) -> UInt64 {
    guard now > phase else { return 0 }
    // Not more than the nanoseconds gone: there is at least one for each frame.
    return duration.dividingFullWidth((now - phase).multipliedFullWidth(by: frames)).quotient
  }
}
