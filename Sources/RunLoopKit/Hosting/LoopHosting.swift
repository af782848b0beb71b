/// Serves one mode of a loop inside a foreign loop, the host: the common part of the adapters for such loops.
///
/// An adapter makes one for each loop that it attaches. Its library polls `descriptor` for reading, level-triggered.
/// The adapter calls `prepare()` before each sleep of the library, `serve()` when the descriptor is readable or
/// `prepare()` has returned `.hasWork`, and `leave()` at its end.
///
/// ```swift
/// import Glibc
/// var isDone = false
/// let hosting = try LoopHosting(of: .current)
/// try hosting.loop.assumeOnLoop { local in try local.perform { isDone = true } }
/// while !isDone {
///   var watched = pollfd(fd: hosting.descriptor.fileDescriptor, events: Int16(POLLIN), revents: 0)
///   if hosting.prepare() == .mayWait { poll(&watched, 1, -1) }
///   hosting.serve()
/// }
/// hosting.leave()
/// print("served")  // prints served
/// ```
///
/// Nesting: a callout of the loop may run the host's loop, so that the adapter makes these calls inside the callout
/// (`RunLoop.prepareToWait(in:)`). If the callout leaves a wait open, the loop ends the wait after the callout; the
/// adapter need not do so.
/// - Thread: The loop's own, for all members.
/// - SeeAlso: `RunLoop.prepareToWait(in:)`; in C, for an `rlc_loop`: `<crunloop/adapters/hosted.h>`.
public final class LoopHosting {
  /// The loop. Retained.
  public let loop: RunLoop
  /// The mode that the host serves.
  public let mode: RunLoop.Mode
  /// What the host polls. If `prepare()` changes it, a host that watches it by epoll adds it again.
  public private(set) var descriptor: RunLoop.HostDescriptor
  /// The error that the loop has thrown, and that has ended the hosting. Nil if there was none.
  public private(set) var failure: (any Error)?
  /// False after `leave()`, and once the loop has failed.
  public private(set) var isAttached = true

  /// How a run of the loop sleeps inside the host, which serves its own sources meanwhile. For hosts whose library can
  /// be iterated. If it is nil, as at first, the run sleeps by itself, and the host serves nothing meanwhile.
  ///
  /// A run that is about to sleep calls the closure with a descriptor to poll for reading, and with the moment at which
  /// the sleep ends. The descriptor may be another mode's than `descriptor`. The closure returns true as soon as the
  /// descriptor is readable, the moment has come, or the host has served a source of its own. It returns false at once
  /// if the host cannot be iterated now. While the closure iterates the host, the adapter calls neither `prepare()` nor
  /// `serve()`, because the run serves its own mode itself. If a callback runs the host's loop, the adapter calls them
  /// in that callback. If several hosts have set a closure, the run calls the one that was set last.
  public var sleep: ((_ descriptor: Int32, _ until: RunLoop.Instant) -> Bool)? {
    didSet { if isAttached, loop.isCurrent { loop.setHostSleep(sleep, of: ObjectIdentifier(self)) } }
  }

  /// True if a run of the loop sleeps in a host: it has called `sleep`, and no callback has begun another run since.
  /// False once an exception or longjmp(3) has left that run, which `sleep` cannot notice.
  public var isAsleep: Bool { loop.isAsleepInHost }

  private var onStop: (() -> Void)?
  private var onFailure: ((any Error) -> Void)?

  /// What a host does next.
  public enum Preparation: Sendable {
    /// The host may sleep: the descriptor becomes readable when there is work.
    case mayWait
    /// There is work: the host calls `serve()` instead.
    case hasWork
    /// The host may sleep without polling the descriptor: its loop runs inside an observer that another of its calls is
    /// notifying. It can serve the loop when that call has returned.
    case isBusy
    /// The host has left, or the loop has failed: there is nothing to poll or to serve.
    case isOver
  }

  /// Begins to host a mode.
  ///
  /// - Parameters:
  ///   - loop: The calling thread's. Retained.
  ///   - mode: A host serves one mode at a time; not `.common`.
  ///   - onStop: Called by `serve()` after any code has called `stop()`; not after `leave()`. Retained until `leave()`.
  ///   - onFailure: Called once, by the call that fails, after `failure` was set and the host has left. Retained until
  ///     then, or until `leave()`.
  /// - Throws: As `RunLoop.hostDescriptor(in:)`.
  @available(*, noasync, message: "call it in the host's own loop, not in a task or a main with a top-level await")
  public init(
    of loop: RunLoop, in mode: RunLoop.Mode = .default, onStop: (() -> Void)? = nil,
    onFailure: ((any Error) -> Void)? = nil
  ) throws {
    self.loop = loop
    self.mode = mode
    self.onStop = onStop
    self.onFailure = onFailure
    descriptor = try loop.hostDescriptor(in: mode)
  }

  /// Prepares the loop for a sleep of the host. Call it before each sleep. - Re-entry: Allowed in callouts of the loop.
  public func prepare() -> Preparation {
    guard isAttached else { return .isOver }
    do throws(RunLoopError) {
      let hasWork = try loop.prepareToWait(in: mode, for: ObjectIdentifier(self))
      guard isAttached else { return .isOver }  // an observer has left
      descriptor = try loop.hostDescriptor(of: mode)
      return hasWork ? .hasWork : .mayWait
    } catch {
      if error == .busy { return .isBusy }
      fail(error)
      return .isOver
    }
  }

  /// Makes one pass, if there is work. Call it when the descriptor is readable, or when `prepare()` has returned
  /// `.hasWork`.
  /// - Returns: `isAttached`. - Re-entry: Allowed in callouts of the loop.
  @discardableResult
  public func serve() -> Bool {
    guard isAttached else { return false }
    do {
      if try loop.runPendingWork(in: mode) == .stopped { onStop?() }
    } catch RunLoopError.busy {
      // The host may sleep, as after `.isBusy`.
    } catch {
      fail(error)
    }
    return isAttached
  }

  /// Ends the hosting, and with it the waits for this host on each level of nesting. A second call does nothing. In a
  /// child of fork(2) the call leaves the loop alone.
  /// - Re-entry: Allowed in callouts of the loop, as `RunLoop.cancelWait(in:)`.
  public func leave() {
    guard isAttached else { return }
    sleep = nil
    isAttached = false
    (onStop, onFailure) = (nil, nil)
    // This throws if the loop has ended, or is another thread's or the parent process's. Then no wait has to end.
    try? loop.cancelWaits(for: ObjectIdentifier(self))
  }

  /// Whether this process is a child, by fork(2), of the one that began to host. The kernel objects of the host may be
  /// the parent's then.
  public var isForked: Bool { !loop.isInThisProcess }

  private func fail(_ error: any Error) {
    guard isAttached else { return }
    failure = error
    let onFailure = onFailure
    leave()
    onFailure?(error)
  }
}
