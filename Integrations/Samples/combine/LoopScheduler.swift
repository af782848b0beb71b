import OpenCombine
import RunLoopKit
import Synchronization

/// Lets publishers deliver on a run loop: actions are called on the loop's thread, while it runs in the scheduler's mode.
/// Those without a date are its blocks, those with a date its timers.
struct LoopScheduler: Scheduler {
  /// Called in place of an action that will not be called, because the loop has ended.
  struct SchedulerOptions { var onDrop: @Sendable () -> Void }

  let loop: RunLoop
  var mode = RunLoop.Mode.common

  var now: SchedulerTime { SchedulerTime(instant: loop.clock.now) }
  var minimumTolerance: SchedulerTime.Stride { .zero }

  // A loop that has ended refuses what it is given, and the turn is dropped with it.

  func schedule(options: SchedulerOptions?, _ action: @escaping () -> Void) {
    let turn = Turn(action, options)
    try? loop.perform(in: mode) { turn.take() }
  }

  func schedule(
    after date: SchedulerTime, tolerance: SchedulerTime.Stride, options: SchedulerOptions?,
    _ action: @escaping () -> Void
  ) {
    let turn = Turn(action, options)
    let timer = RunLoop.Timer(fireDate: date.instant, tolerance: tolerance.duration) { _ in turn.take() }
    _ = try? loop.add(timer, to: mode)
  }

  func schedule(
    after date: SchedulerTime, interval: SchedulerTime.Stride, tolerance: SchedulerTime.Stride,
    options: SchedulerOptions?, _ action: @escaping () -> Void
  ) -> any Cancellable {
    let turn = Turn(action, options)
    // An interval of zero would be a timer that fires once.
    let interval = max(interval.duration, .nanoseconds(1))
    let timer = RunLoop.Timer(fireDate: date.instant, interval: interval, tolerance: tolerance.duration) { _ in
      turn.repeat()
    }
    _ = try? loop.add(timer, to: mode)
    // The loop alone holds both: when it ends, the action is dropped, whoever keeps the answer.
    return AnyCancellable { [weak turn, weak timer] in
      turn?.cancel()
      timer?.invalidate()
    }
  }
}

extension RunLoop {
  /// For OpenCombine's operators: calls on this loop, in its common modes.
  var scheduler: LoopScheduler { LoopScheduler(loop: self) }
}

/// An action that waits for its turn. Only what will call it holds it: released before, it is dropped.
private final class Turn: @unchecked Sendable {
  // OpenCombine's operators hand over what they do not touch before it is called.
  private let action: () -> Void
  private let options: LoopScheduler.SchedulerOptions?
  private let isOver = Atomic(false)

  init(_ action: @escaping () -> Void, _ options: LoopScheduler.SchedulerOptions?) {
    self.action = action
    self.options = options
  }

  /// The only call.
  func take() {
    cancel()
    action()
  }

  /// One of many, until it is cancelled.
  func `repeat`() { if !isOver.load(ordering: .acquiring) { action() } }

  func cancel() { isOver.store(true, ordering: .releasing) }

  deinit {
    if isOver.load(ordering: .acquiring) { return }
    guard let options else { return print("an action is dropped: its run loop has ended") }
    options.onDrop()
  }
}

/// A moment of a loop's suspending clock.
struct SchedulerTime: Strideable {
  var instant: RunLoop.Instant

  func distance(to other: SchedulerTime) -> Stride { Stride(duration: instant.duration(to: other.instant)) }
  func advanced(by stride: Stride) -> SchedulerTime { SchedulerTime(instant: instant.advanced(by: stride.duration)) }

  /// A time span. Literals and products are in seconds, as for other schedulers.
  struct Stride: SchedulerTimeIntervalConvertible, SignedNumeric, Comparable {
    var duration: Duration

    static func seconds(_ count: Int) -> Stride { Stride(duration: .seconds(count)) }
    static func seconds(_ count: Double) -> Stride { Stride(duration: .seconds(count)) }
    static func milliseconds(_ count: Int) -> Stride { Stride(duration: .milliseconds(count)) }
    static func microseconds(_ count: Int) -> Stride { Stride(duration: .microseconds(count)) }
    static func nanoseconds(_ count: Int) -> Stride { Stride(duration: .nanoseconds(count)) }

    static func < (a: Stride, b: Stride) -> Bool { a.duration < b.duration }
    static func + (a: Stride, b: Stride) -> Stride { Stride(duration: a.duration + b.duration) }
    static func - (a: Stride, b: Stride) -> Stride { Stride(duration: a.duration - b.duration) }
    static func * (a: Stride, b: Stride) -> Stride { Stride(duration: a.duration * (b.duration / .seconds(1))) }
    static func *= (a: inout Stride, b: Stride) { a = a * b }
    var magnitude: Stride { self < 0 ? 0 - self : self }
  }
}

extension SchedulerTime.Stride {
  init(integerLiteral seconds: Int) { duration = .seconds(seconds) }
  init?(exactly seconds: some BinaryInteger) {
    guard let seconds = Int(exactly: seconds) else { return nil }
    duration = .seconds(seconds)
  }
}
