import CRunLoopCore
import RunLoopKit

/// A clock that stands still while a participant runs, and jumps to the next deadline when all participants sleep.
///
/// It drives the same code as in production. The loops of its threads take their clock, their timer descriptors and
/// their waits from it. epoll, eventfds and pipes stay real, so the kernel still decides the order of readiness. Hours
/// of loop time pass in no real time, and a program whose threads all take part runs the same way every time:
///
/// ```swift
/// try await VirtualTime.run { time in
///   let timer = RunLoop.Timer(fireDate: time.now.advanced(by: .seconds(3600))) { _ in print("an hour later") }
///   try RunLoop.current.add(timer)
///   try RunLoop.current.run(for: .seconds(7200))  // returns at once
/// }
/// // prints an hour later
/// ```
///
/// **Participants.** These threads take part: the thread of `run`'s body or the one that calls `install`, threads made
/// by `start`, each `RunLoop.Thread` that a participant starts, and threads that called `enter` [RLK-KERNEL-2]. A new
/// thread has its place in the queue before it exists. One participant runs at a time. It holds the turn until it
/// leaves or blocks: in the wait of a loop, in a wait of RunLoopKit for another thread (`RunLoop.Thread.start` and
/// `join`, `performAndWait`, `invalidateAndWait`, `send` to a full port), in `sleep`, in a `Gate` or in
/// `VirtualTime.Thread.join`. Then the participant that has been runnable for longest continues. All these waits
/// measure their timeouts by the virtual clock. A participant must wait for another one only in these ways, never for a
/// lock or a semaphore that the other would have to release (`leave` before such a wait, `enter` after it).
///
/// **Hangs** are reported when no participant has made progress for ten seconds of real time (`StuckPolicy`). A text on
/// standard error names the threads, the one that holds the turn, and what each waits for. `description` returns the
/// same text at any time.
///
/// **The clock** moves only when no participant can run. It then goes to the earliest of the armed timers and the
/// deadlines of the blocked participants (timers first when they tie, otherwise first come, first served) and serves
/// that one. If there is none, `IdlePolicy` decides.
///
/// **Spinning.** A loop whose waits find an event again and again without ever blocking would stop the clock for ever.
/// So a participant sleeps for half a virtual millisecond after 64 polls at one instant.
///
/// **Several clocks.** The process may have other virtual times, each with its clock and its threads, and loops with
/// the system's clock. A loop always has the clock of the thread that has made it [RLK-KERNEL-1]. A timer's date is on
/// the clock of the loop that it is added to [RLK-KERNEL-4]. A wait for a thread that has another clock measures its
/// timeout by the waiting thread's clock.
///
/// **Other threads** may post, wake, write and call `Gate.open` at any time. The clock does not wait for them, so their
/// calls take effect at an arbitrary virtual time, unless nothing else is pending.
public final class VirtualTime: Sendable, CustomStringConvertible {
  /// What the virtual time does when all participants are blocked and none of them has a deadline.
  public enum IdlePolicy: Sendable {
    /// Waits until a thread that does not take part, or another process, makes something ready.
    case waitForReality
    /// Calls the closure once for each such moment, on a blocked participant's thread with no lock held; then waits as
    /// `waitForReality` does.
    case report(@Sendable () -> Void)
  }

  /// What the virtual time does when a participant waits and none has made progress for some real time. Either one
  /// computes for long, or one waits in a way that virtual time does not know of, or all wait for an event that never
  /// comes.
  public enum StuckPolicy: Sendable {
    /// Writes to standard error which thread holds the turn and what each thread waits for, once for each such moment.
    /// Then continues to wait.
    case report(after: Duration)
    /// Writes the text of `report`, and ends the process with abort(3).
    case abort(after: Duration)
  }

  let turns: Turns

  /// The default start of the monotonic clock: a million seconds.
  public static let defaultStart = RunLoop.Instant(nanoseconds: 1_000_000_000_000_000)

  /// The seed of the choices between participants that could continue. If it is nil, the one that has been runnable for
  /// longest continues.
  public let seed: UInt64?

  init(
    _ start: RunLoop.Instant, _ tick: Duration, seed: UInt64? = nil, _ whenIdle: IdlePolicy, _ whenStuck: StuckPolicy
  ) {
    self.seed = seed
    turns = Turns(
      start: start.nanoseconds, tick: tick.nanosecondsRoundedUp, seed: seed, idlePolicy: whenIdle,
      patience: Patience(whenStuck))
  }

  /// Makes a virtual time, and makes the calling thread its first participant. The thread must not have a loop yet. The
  /// thread's loop, and the loops of all threads that it starts by RunLoopKit or by `start`, use this virtual time.
  ///
  /// Meant for the main thread of a program: `RunLoop.main` has the clock of the main thread [RLK-KERNEL-6].
  ///
  /// ```swift
  /// let time = VirtualTime.install()
  /// let start = time.now
  /// try RunLoop.current.run(for: .seconds(3600))  // returns at once
  /// print(start.duration(to: time.now) >= .seconds(3600))  // prints true
  /// ```
  /// - Parameters:
  ///   - start: The monotonic clock's first value. The boot-time clock equals it until `suspend` is called. The wall
  ///     clock begins on a fixed day.
  ///   - tick: How far each reading moves the clock. Zero makes every date exact. A microsecond or less imitates a real
  ///     clock, which hardly ever shows the same time twice: what was due "now" a moment ago is in the past.
  ///   - whenIdle: What to do when all participants wait without a deadline.
  ///   - whenStuck: What to do when no participant makes progress for some real time.
  /// - Precondition: The calling thread has no loop (a loop keeps the clock that it was made with) and takes part in no
  ///   other virtual time. Otherwise the process ends with a message.
  /// - Thread: Any. - Blocks: No.
  public static func install(
    startingAt start: RunLoop.Instant = VirtualTime.defaultStart,
    tick: Duration = .zero,
    whenIdle: IdlePolicy = .waitForReality,
    whenStuck: StuckPolicy = .report(after: .seconds(10))
  ) -> VirtualTime {
    let time = VirtualTime(start, tick, whenIdle, whenStuck)
    time.enter()
    return time
  }

  /// The virtual monotonic clock; a participant's `RunLoop.Instant.now` reads the same clock.
  ///
  /// - Thread: Any.
  public var now: RunLoop.Instant { RunLoop.Instant(nanoseconds: turns.readClock()) }

  /// Makes the calling thread a participant and waits for its turn; does nothing if it is one already.
  ///
  /// The thread stays a participant until it calls `leave` or ends. At its end it passes the turn on after its loop has
  /// ended.
  ///
  /// - Precondition: As for `install`, but the thread may have a loop of this virtual time.
  /// - Thread: Any. - Blocks: Until the turn comes.
  public func enter() {
    _ = turns.enterCurrentThread()
  }

  /// Ends the calling thread's part and passes the turn on; does nothing if the thread takes no part.
  ///
  /// After this call the thread uses the system's clock. But if it has made a loop, it keeps the virtual clock, and its
  /// next wait in RunLoopKit makes it a participant again.
  ///
  /// - Thread: Any. - Blocks: No.
  public func leave() {
    turns.leaveCurrentThread()
  }

  /// Lets the clock run to `deadline` while the calling thread sleeps; other participants and timers are served
  /// meanwhile.
  ///
  /// With a deadline in the past, the call only passes the turn to the participants that can run. The calling thread
  /// becomes a participant.
  ///
  /// - Thread: Any.
  /// - Blocks: Virtually.
  /// - Re-entry: Allowed from a callout; the loop is then late, as after a long callout.
  public func sleep(until deadline: RunLoop.Instant) {
    let wait = Participant.Wait(deadline: deadline.nanoseconds, purpose: "a moment of the clock (sleep, advance)")
    turns.block(turns.enterCurrentThread(), wait)
  }

  /// Calls `sleep(until: now + duration)`; zero or less only passes the turn on.
  ///
  /// - Thread: Any.
  public func advance(by duration: Duration) {
    sleep(until: now.advanced(by: duration))
  }

  /// Simulates that the machine is suspended for `duration`, and wakes: the continuous clock and the wall clock
  /// advance, the monotonic clock does not.
  ///
  /// Timers whose dates these clocks have passed expire. With zero or less the machine wakes at once.
  ///
  /// - Thread: Any participant. - Blocks: No.
  public func suspend(for duration: Duration) {
    let nanoseconds = RunLoop.Instant(nanoseconds: 0).advanced(by: duration).nanoseconds
    turns.lock.withLock {
      turns.timers.suspend(for: nanoseconds, now: turns.now)
      turns.interrupt()
    }
  }

  /// Sets the wall clock, forward or back, as a person or NTP does. Loops then check the wall clock's timers again.
  /// Timers of other clocks are not affected.
  ///
  /// - Thread: Any participant. - Blocks: No.
  public func setWallClock(to time: RunLoop.WallInstant) {
    turns.lock.withLock {
      turns.timers.setWallClock(to: time.nanoseconds, now: turns.now)
      turns.interrupt()
    }
  }

  /// The time of the clock, the participant that holds the turn, and what each other participant waits for.
  ///
  /// - Thread: Any.
  public var description: String {
    (seed.map { "VirtualTime with seed \($0)\n" } ?? "") + turns.lock.withLock { turns.describeLocked() }
  }

  /// Counts one poll. For a caller that polls in a loop of its own, without waiting: after many polls at one instant
  /// the call sleeps, so that the clock moves (see Spinning).
  ///
  /// - Thread: Any participant; on other threads it does nothing.
  package func spin() {
    turns.countPoll()
  }
}
