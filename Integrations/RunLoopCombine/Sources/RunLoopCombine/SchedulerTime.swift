public import OpenCombine
public import RunLoopKit

/// A moment of a loop's suspending clock, as OpenCombine's schedulers have them.
public struct SchedulerTime: Strideable, Hashable, Sendable {
  /// The loop's own.
  public var instant: RunLoop.Instant

  /// Wraps a moment.
  public init(_ instant: RunLoop.Instant) { self.instant = instant }

  /// How far another moment lies ahead; negative if it lies behind. What is further off than 292 years counts as that.
  public func distance(to other: SchedulerTime) -> Stride {
    let (from, to) = (instant.nanoseconds, other.instant.nanoseconds)
    return to >= from
      ? Stride(nanoseconds: Int64(clamping: to - from)) : Stride(nanoseconds: -Int64(clamping: from - to))
  }

  /// A moment that lies so far ahead: at the earliest the clock's first, at the latest its last.
  public func advanced(by stride: Stride) -> SchedulerTime {
    let (sum, isOver) =
      stride.nanoseconds >= 0
      ? instant.nanoseconds.addingReportingOverflow(UInt64(stride.nanoseconds))
      : instant.nanoseconds.subtractingReportingOverflow(stride.nanoseconds.magnitude)
    let limit: UInt64 = stride.nanoseconds >= 0 ? .max : 0
    return SchedulerTime(RunLoop.Instant(nanoseconds: isOver ? limit : sum))
  }
}

extension SchedulerTime {
  /// A time span in nanoseconds. Literals and products are in seconds, as for other schedulers. What has no room counts
  /// as 292 years.
  public struct Stride: SchedulerTimeIntervalConvertible, Comparable, SignedNumeric, Hashable, Sendable {
    /// Negative: backwards.
    public var nanoseconds: Int64

    /// A time span of so many nanoseconds.
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// In seconds.
    public init(integerLiteral seconds: Int64) { self = .of(seconds, timesNanoseconds: 1_000_000_000) }

    /// In seconds; nil if it has no room.
    public init?(exactly seconds: some BinaryInteger) {
      guard let seconds = Int64(exactly: seconds) else { return nil }
      let (nanoseconds, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
      if isOver { return nil }
      self.nanoseconds = nanoseconds
    }

    /// The same, never negative.
    public var magnitude: Stride { nanoseconds < 0 ? -self : self }

    /// Not negative, for the loop.
    var positive: Duration { .nanoseconds(max(nanoseconds, 0)) }

    /// By length.
    public static func < (a: Stride, b: Stride) -> Bool { a.nanoseconds < b.nanoseconds }

    /// Behind each other.
    public static func + (a: Stride, b: Stride) -> Stride {
      let (sum, isOver) = a.nanoseconds.addingReportingOverflow(b.nanoseconds)
      return isOver ? limit(isNegative: a.nanoseconds < 0) : Stride(nanoseconds: sum)
    }

    /// From the end of the second to the end of the first.
    public static func - (a: Stride, b: Stride) -> Stride {
      let (difference, isOver) = a.nanoseconds.subtractingReportingOverflow(b.nanoseconds)
      return isOver ? limit(isNegative: a.nanoseconds < 0) : Stride(nanoseconds: difference)
    }

    /// Of seconds.
    public static func * (a: Stride, b: Stride) -> Stride {
      let product = a.nanoseconds.multipliedFullWidth(by: b.nanoseconds)
      let (quotient, _, fits) = divide(product)
      return fits ? Stride(nanoseconds: quotient) : limit(isNegative: (a.nanoseconds < 0) != (b.nanoseconds < 0))
    }

    /// As `*`.
    public static func *= (a: inout Stride, b: Stride) { a = a * b }

    /// Whole seconds.
    public static func seconds(_ count: Int) -> Stride { of(Int64(count), timesNanoseconds: 1_000_000_000) }
    /// To the next nanosecond. Not a number: nothing.
    public static func seconds(_ count: Double) -> Stride {
      let nanoseconds = (count * 1_000_000_000).rounded()
      if nanoseconds.isNaN { return .zero }
      return Int64(exactly: nanoseconds).map(Stride.init(nanoseconds:)) ?? limit(isNegative: nanoseconds < 0)
    }
    /// Thousandths of a second.
    public static func milliseconds(_ count: Int) -> Stride { of(Int64(count), timesNanoseconds: 1_000_000) }
    /// Millionths of a second.
    public static func microseconds(_ count: Int) -> Stride { of(Int64(count), timesNanoseconds: 1000) }
    /// Billionths of a second.
    public static func nanoseconds(_ count: Int) -> Stride { of(Int64(count), timesNanoseconds: 1) }

    private static func of(_ count: Int64, timesNanoseconds unit: Int64) -> Stride {
      let (nanoseconds, isOver) = count.multipliedReportingOverflow(by: unit)
      return isOver ? limit(isNegative: count < 0) : Stride(nanoseconds: nanoseconds)
    }

    private static func limit(isNegative: Bool) -> Stride { Stride(nanoseconds: isNegative ? -.max : .max) }

    /// By 10^9, if the quotient has room.
    private static func divide(_ product: (high: Int64, low: UInt64)) -> (Int64, Int64, fits: Bool) {
      let unit: Int64 = 1_000_000_000
      guard product.high.magnitude < UInt64(unit) / 2 else { return (0, 0, false) }
      let (quotient, remainder) = unit.dividingFullWidth(product)
      return (quotient, remainder, true)
    }
  }
}
