/// The dates of frames, as pure arithmetic on nanoseconds: frame n is at phase + n * duration / frames, rounded up.
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
    // The quotient fits: each frame takes at least a nanosecond, so it is at most `now - phase`.
    return duration.dividingFullWidth((now - phase).multipliedFullWidth(by: frames)).quotient
  }
}
