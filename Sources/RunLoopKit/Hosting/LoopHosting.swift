/// A mode of a loop in a foreign loop, the host: what each adapter for such a loop needs, whichever that is.
///
/// An adapter has one for each loop that it attaches. It has its library poll `descriptor` for reading,
/// level-triggered; calls `prepare()` before each sleep of the library, and `serve()` when the descriptor is readable
/// or `prepare()` answered `.hasWork`; and `leave()` at its end.
///
/// ```swift
/// let hosting = try LoopHosting(of: .current)
/// while hosting.isAttached {
///   if hosting.prepare() == .mayWait { poll(hosting.descriptor.fileDescriptor) }
///   hosting.serve()
/// }
/// ```
///
/// Nesting: the calls may come from callouts of the loop, whose own host loop runs there
/// (`RunLoop.prepareToWait(in:)`). A wait that such a callout leaves open ends with it, and is no concern of the
/// adapter's.
/// - Thread: The loop's own, for all members.
/// - SeeAlso: `RunLoop.prepareToWait(in:)`; in C, for an `rlc_loop`: `<crunloop/adapters/hosted.h>`.
public final class LoopHosting {
  /// The loop, which this retains.
  public let loop: RunLoop
  /// The mode that the host serves.
  public let mode: RunLoop.Mode
  /// What the host polls; after `prepare()` maybe another one, which a host that watches by an epoll instance watches
  /// anew.
  public private(set) var descriptor: RunLoop.HostDescriptor
  /// Why the host serves the loop no more: what the loop has thrown.
  public private(set) var failure: (any Error)?
  /// False after `leave()`, and once the loop has failed.
  public private(set) var isAttached = true

  /// How a run of the loop sleeps inside of the host, whose own sources are served meanwhile: for a host whose library
  /// can be iterated so. Nil, as at first: the run sleeps by itself, and the host stands still.
  ///
  /// Called by a run that is about to sleep, with what to poll for reading, which may be another mode's descriptor than
  /// `descriptor`, and until when. Returns true as soon as that is readable, the moment has come, or the host has
  /// served something of its own; false, with nothing done, if the host cannot be iterated there. While it iterates for
  /// itself, and not in a callback that runs the host's loop in turn, the adapter does not call `prepare()` or
  /// `serve()`: the run serves its own mode alone. Of several hosts the latest one is asked.
  public var sleep: ((_ descriptor: Int32, _ until: RunLoop.Instant) -> Bool)? {
    didSet { if isAttached, loop.isCurrent { loop.setHostSleep(sleep, of: ObjectIdentifier(self)) } }
  }

  /// Whether a run of the loop sleeps in a host: `sleep` was called, and no run was begun in a callback since. False
  /// once that run was left by an exception or longjmp(3), which `sleep` does not see.
  public var isAsleep: Bool { loop.isAsleepInHost }

  private var onStop: (() -> Void)?
  private var onFailure: ((any Error) -> Void)?

  /// What a host does next.
  public enum Preparation: Sendable {
    /// It may sleep: the descriptor becomes readable when there is work.
    case mayWait
    /// There is work: it calls `serve()` instead.
    case hasWork
    /// It may sleep, and need not poll the descriptor: an observer that another call of the host notifies has run the
    /// host's loop. The loop is served when that has returned.
    case isBusy
    /// It has left, or the loop has failed: there is nothing to poll or to serve.
    case isOver
  }

  /// Begins to host a mode.
  ///
  /// - Parameters:
  ///   - loop: The calling thread's. Retained.
  ///   - mode: A host serves one mode at a time; not `.common`.
  ///   - onStop: Called by `serve()` after `stop()` was called, by whomever; not after `leave()`. Retained until then.
  ///   - onFailure: Called once, with `failure` set and the host gone, by the call that fails. Retained until then, or
  ///     until `leave()`.
  /// - Throws: As `RunLoop.hostDescriptor(in:)`.
  @available(*, noasync, message: "hosting belongs to a thread: call it in the host's own loop, outside of tasks")
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

  /// To be called before each sleep of the host. - Re-entry: Allowed in callouts of the loop.
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

  /// Makes one pass, if there is work. To be called when the descriptor is readable, or `prepare()` answered
  /// `.hasWork`.
  /// - Returns: `isAttached`. - Re-entry: Allowed in callouts of the loop.
  @discardableResult
  public func serve() -> Bool {
    guard isAttached else { return false }
    do {
      if try loop.runPendingWork(in: mode) == .stopped { onStop?() }
    } catch RunLoopError.busy {
      // As `.isBusy`.
    } catch {
      fail(error)
    }
    return isAttached
  }

  /// The host serves the loop no more: the loop waits for it no more, on no level. Nothing is done the second time, and
  /// nothing to the loop in a child of fork(2).
  /// - Re-entry: Allowed in callouts of the loop, as `RunLoop.cancelWait(in:)`.
  public func leave() {
    guard isAttached else { return }
    sleep = nil
    isAttached = false
    (onStop, onFailure) = (nil, nil)
    // It fails for a loop that has ended, is another thread's or the parent's: that waits for nobody.
    try? loop.cancelWaits(for: ObjectIdentifier(self))
  }

  /// Whether this is a child of the process that has begun to host: what the host has in the kernel may be the
  /// parent's.
  public var isForked: Bool { !loop.isInThisProcess }

  private func fail(_ error: any Error) {
    guard isAttached else { return }
    failure = error
    let onFailure = onFailure
    leave()
    onFailure?(error)
  }
}
