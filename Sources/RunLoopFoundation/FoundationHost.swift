#if Foundation
  internal import CRunLoopCore
  public import Foundation
  public import RunLoopKit

  /// Runs one mode of a run loop inside Foundation's run loop of the same thread: a run of Foundation's loop serves
  /// both.
  ///
  /// ```swift
  /// let host = try FoundationHost(of: RunLoopKit.RunLoop.main)
  /// Foundation.RunLoop.main.run()  // serves Foundation, RunLoopKit, DispatchQueue.main and the main actor
  /// ```
  ///
  /// Foundation's loop makes at most one pass of this one in each of its own, so that neither side starves the other.
  /// While nothing is to be done, both sleep in one wait, and nothing wakes them. Both serve the main dispatch queue:
  /// what one of them has taken, the other finds no more. The host keeps a run of Foundation's loop from being
  /// finished. That loop holds the host until `detach()` or its own end: a program need not keep it.
  ///
  /// Nesting: a callout of Foundation's loop may run this one. A callout of this loop may run Foundation's, which
  /// serves this one there as well, to any depth, but not what is in its callout.
  /// - Thread: The loop's own, which is the one that runs Foundation's loop, for all members.
  /// - SeeAlso: `RunLoop.prepareToWait(in:)`.
  public final class FoundationHost {
    /// The loop, which the host retains.
    public var loop: RunLoopKit.RunLoop { hosting.loop }
    /// The mode of `loop` that is served.
    public var mode: RunLoopKit.RunLoop.Mode { hosting.mode }
    /// The mode of Foundation's loop that serves it.
    public let foundationMode: Foundation.RunLoop.Mode
    /// The error for which Foundation's loop stopped serving this one. The host is detached then, as by `detach()`, and
    /// has printed the error on standard error. Nil if there was none.
    public var failure: (any Error)? { hosting.failure }

    private let hosting: LoopHosting
    /// Foundation's loop owns it. Nil: detached, or that loop is gone.
    private weak var attachment: Attachment?
    private var descriptor: RunLoopKit.RunLoop.HostDescriptor
    /// Foundation's loop has made a pass that neither served this one nor got as far as to sleep.
    private var isPassedOver = false

    /// Attaches a mode of a loop to Foundation's loop of the calling thread, until `detach()`.
    ///
    /// The host has one descriptor of its own.
    /// - Parameters:
    ///   - loop: The calling thread's. Retained.
    ///   - mode: Each host serves one mode; a loop may have several hosts, a mode one at a time.
    ///   - foundationMode: While Foundation's loop runs in another one, this loop is not served.
    ///   - onStop: Called on the loop's thread after `stop()` was called, by another thread or by a callout of either
    ///     loop, such as `{ CFRunLoopStop(CFRunLoopGetCurrent()) }`; not after `detach()`. Released with the host.
    /// - Throws: As `RunLoop.hostDescriptor(in:)`; `.system` if there is no descriptor left.
    @available(*, noasync, message: "hosting belongs to a thread: call it outside of tasks")
    @discardableResult
    public init(
      of loop: RunLoopKit.RunLoop, in mode: RunLoopKit.RunLoop.Mode = .default,
      foundationMode: Foundation.RunLoop.Mode = .common, onStop: (() -> Void)? = nil
    ) throws {
      self.foundationMode = foundationMode
      hosting = try LoopHosting(of: loop, in: mode, onStop: onStop, onFailure: FoundationHost.warn)
      descriptor = hosting.descriptor
      attachment = try Attachment.make(
        of: self, descriptor: descriptor.fileDescriptor, mode: foundationMode)
      // Attached by what a pass calls before its sleep, the loop is prepared in the next one.
      attachment?.ring()
    }

    /// Removes the loop from Foundation's. It lives on, waits no more, and can be attached again.
    ///
    /// In a child of fork(2) this does nothing: what Foundation's loop sleeps on is the parent's, too.
    /// - Re-entry: Allowed in callouts of both loops.
    public func detach() {
      hosting.leave()
      guard let attachment else { return }
      self.attachment = nil
      if !hosting.isForked { attachment.remove() }
    }

    /// Whether Foundation's loop serves this one.
    public var isAttached: Bool { attachment?.isWhole ?? false }
  }

  // MARK: What Foundation's loop calls

  extension FoundationHost {
    /// A pass begins. One that finds work of its own does not get as far as to sleep, so it does not prepare this loop,
    /// whose work may then not show on the descriptor: after each such pass, this loop is asked.
    func passBegins() {
      if isPassedOver { attachment?.ring() }
      isPassedOver = true
    }

    /// The descriptor is watched for edges, so that Foundation's loop does not spin while this one is busy. An earlier
    /// pass may have taken an edge: this function checks for work itself.
    func sleepBegins() {
      isPassedOver = false
      switch hosting.prepare() {
      case .hasWork: attachment?.ring()
      case .mayWait, .isBusy: break
      case .isOver: return detach()
      }
      watchAgain()
    }

    /// The descriptor has become readable, or the bell was rung: one pass.
    func serve() {
      isPassedOver = false
      if !hosting.serve() { detach() }
    }

    private static func warn(_ error: any Error) {
      let text = "RunLoopFoundation: the run loop leaves Foundation's: \(error)\n"
      _ = text.withCString { rlc_descriptor_write(STDERR_FILENO, $0, strlen($0)) }
    }

    /// The loop has a new epoll instance under the same number: Foundation's loop does not watch it yet.
    private func watchAgain() {
      guard hosting.descriptor != descriptor else { return }
      descriptor = hosting.descriptor
      attachment?.watchAgain(descriptor.fileDescriptor)
    }
  }
#else
  /// Nothing without the trait `Foundation` of the package.
  @available(
    *, unavailable, message: "RunLoopFoundation needs the trait Foundation: .package(…, traits: [\"Foundation\"])"
  )
  public enum FoundationHost {}
#endif
