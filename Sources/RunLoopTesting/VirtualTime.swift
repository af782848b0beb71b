import CRunLoopCore
import RunLoopKit

/// A clock that stands still while anybody works and jumps to the next deadline when everybody sleeps.
///
/// It drives the production pass: the loops of its threads take their clock, their timer descriptors and their waits
/// from it, while epoll, eventfds and pipes stay real, so that the order of readiness is still the kernel's. Hours of
/// loop time pass in no real time, and a program whose threads all take part runs the same way every time:
///
/// ```swift
/// try await VirtualTime.run { time in
///   let timer = RunLoop.Timer(fireDate: time.now.advanced(by: .seconds(3600))) { _ in print("an hour later") }
///   try RunLoop.current.add(timer)
///   try RunLoop.current.run(for: .seconds(7200))  // returns at once
/// }
/// ```
///
/// **Participants.** The thread of `run`'s body, or the one that installs, takes part; so do threads made by `start`
/// and each `RunLoop.Thread` that a participant starts, from before they exist, and threads that called `enter`
/// [RLK-KERNEL-2]. One participant runs at a time: it holds the turn until it blocks in a loop's wait or one of the
/// kit's for another thread (`RunLoop.Thread.start` and `join`, `performAndWait`, `invalidateAndWait`, `send` to a full
/// port), in `sleep`, in a `Gate`, in `VirtualTime.Thread.join`, or leaves; then the one that has been able to run for
/// longest goes on. All of these count their timeouts by the virtual clock. A participant must wait for another one
/// only in these ways, never in a lock or a semaphore that the other would have to release (`leave` before such a wait,
/// `enter` after it).
///
/// **What would hang** is said: when nothing has gone on for ten seconds of the machine's time (`StuckPolicy`), a text
/// on standard error names the threads, who holds the turn, and what each waits for. `description` is the same text,
/// any time.
///
/// **The clock** moves only when no participant can run. It then goes to the earliest of the armed timers and the
/// deadlines of the blocked participants (timers first when they tie, otherwise first come, first served) and serves
/// that one. When there is none, `IdlePolicy` decides.
///
/// **Spinning.** A loop whose waits find an event again and again without ever blocking would stop the clock for ever:
/// after 64 looks at one instant a participant sleeps for half a millisecond.
///
/// **Beside it** the process may have other virtual times, each with its clock and its threads, and loops with the
/// system's clock: a loop has the clock of the thread that has made it, for ever [RLK-KERNEL-1]. A timer's date is on
/// the clock of the loop that it is added to [RLK-KERNEL-4]. A wait for a thread that has another clock counts its
/// timeout by the waiting thread's.
///
/// **Other threads** may post, wake, write and call `Gate.open` at any time. As the clock does not wait for them,
/// whatever they do happens at an arbitrary virtual time, unless nothing else was pending.
public final class VirtualTime: Sendable, CustomStringConvertible {
  /// What happens when all participants are blocked and none of them has a deadline.
  public enum IdlePolicy: Sendable {
    /// Wait until a thread that does not take part, or another process, makes something ready.
    case waitForReality
    /// Call this (on a blocked participant's thread, no lock held), once for each such moment; then wait for reality.
    case report(@Sendable () -> Void)
  }

  /// What happens when nothing has gone on for that much of the machine's time, though a participant waits: one of them
  /// computes for long, or waits in a way that virtual time does not know of, or all wait for something that never
  /// comes.
  public enum StuckPolicy: Sendable {
    /// Say on standard error who holds the turn and what each thread waits for; once for each such moment. Then wait
    /// on.
    case report(after: Duration)
    /// Say the same, and end the process with abort(3).
    case abort(after: Duration)
  }

  let turns: Turns

  /// Where the monotonic clock begins by default: a million seconds.
  public static let defaultStart = RunLoop.Instant(nanoseconds: 1_000_000_000_000_000)

  /// What chooses who goes on where several could; nil: the one that has been able to for longest.
  public let seed: UInt64?

  init(
    _ start: RunLoop.Instant, _ tick: Duration, seed: UInt64? = nil, _ whenIdle: IdlePolicy, _ whenStuck: StuckPolicy
  ) {
    self.seed = seed
    turns = Turns(
      start: start.nanoseconds, tick: tick.nanosecondsRoundedUp, seed: seed, idlePolicy: whenIdle,
      patience: Patience(whenStuck))
  }

  /// Makes a virtual time, and the calling thread its first participant. The thread's loop, which it must not have made
  /// before, and the loops of all threads that it starts by the kit or by `start` are this virtual time's.
  ///
  /// For the main thread of a program. `RunLoop.main` has the clock of the main thread [RLK-KERNEL-6].
  ///
  /// - Parameters:
  ///   - start: The monotonic clock's first value. The boot-time clock shows the same until `suspend`, the wall clock a
  ///     fixed day.
  ///   - tick: How far each reading moves the clock. Zero makes every date exact; a real clock hardly ever shows the
  ///     same time twice, and a microsecond or less imitates that: what was due "now" a moment ago is in the past.
  ///   - whenIdle: What to do when nothing can ever happen by itself.
  ///   - whenStuck: What to do when nothing goes on for a while of the machine's time.
  /// - Precondition: The calling thread has no loop (a loop keeps the clock that it was made with) and takes part in no
  ///   other virtual time: else the process ends with a message.
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

  /// The virtual monotonic clock; `RunLoop.Instant.now` reads the same. Thread: any.
  public var now: RunLoop.Instant { RunLoop.Instant(nanoseconds: turns.readClock()) }

  /// Makes the calling thread a participant and waits for its turn; nothing if it is one already.
  ///
  /// It stays one until `leave`, or until the thread ends: the turn is then passed on after the thread's loop is gone.
  ///
  /// - Precondition: As for `install`; a loop of this virtual time it may have.
  /// - Thread: Any. - Blocks: Until the turn comes.
  public func enter() {
    _ = turns.enterCurrentThread()
  }

  /// Ends the calling thread's part and passes the turn on; nothing if it takes no part. The thread has the system's
  /// clock from then on, unless it has made a loop: with that it keeps the virtual one, and the next wait in the kit
  /// makes it a participant again. Thread: any. Blocks: no.
  public func leave() {
    turns.leaveCurrentThread()
  }

  /// Lets the clock run to `deadline` while the calling thread sleeps; other participants and timers get theirs
  /// meanwhile.
  ///
  /// A deadline in the past only passes the turn to those who could run. The calling thread becomes a participant.
  ///
  /// - Thread: Any.
  /// - Blocks: Virtually.
  /// - Re-entry: Allowed from a callout; the loop is late then, as after a long one.
  public func sleep(until deadline: RunLoop.Instant) {
    let wait = Participant.Wait(deadline: deadline.nanoseconds, purpose: "a moment of the clock (sleep, advance)")
    turns.block(turns.enterCurrentThread(), wait)
  }

  /// `sleep(until: now + duration)`; zero or less only passes the turn on. Thread: any.
  public func advance(by duration: Duration) {
    sleep(until: now.advanced(by: duration))
  }

  /// The machine is suspended for that long, and wakes: the continuous and the wall clock have gone on, the monotonic
  /// clock has not. Timers that they have passed meanwhile expire. Zero or less: it wakes at once. Thread: any
  /// participant. Blocks: no.
  public func suspend(for duration: Duration) {
    let nanoseconds = RunLoop.Instant(nanoseconds: 0).advanced(by: duration).nanoseconds
    turns.lock.withLock {
      turns.timers.suspend(for: nanoseconds, now: turns.now)
      turns.interrupt()
    }
  }

  /// Sets the wall clock, forward or back, as a person or NTP does: its timers are checked again, those of other clocks
  /// are not touched. Thread: any participant. Blocks: no.
  public func setWallClock(to time: RunLoop.WallInstant) {
    turns.lock.withLock {
      turns.timers.setWallClock(to: time.nanoseconds, now: turns.now)
      turns.interrupt()
    }
  }

  /// What the clock shows, who holds the turn, and what each other participant waits for. Thread: any.
  public var description: String {
    (seed.map { "VirtualTime with seed \($0)\n" } ?? "") + turns.lock.withLock { turns.describeLocked() }
  }

  /// Says that the caller looks for something in a loop of its own, without waiting: counts as a look (see Spinning).
  /// Thread: any participant; nothing on other threads.
  package func spin() {
    turns.countLook()
  }
}
