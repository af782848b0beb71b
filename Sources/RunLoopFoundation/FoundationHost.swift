#if Foundation
  internal import CRunLoopCore
  public import Foundation
  public import RunLoopKit

  /// Runs one mode of a run loop inside Foundation's run loop of the same thread: a run of Foundation's loop serves
  /// both.
  ///
  /// <!-- not run: needs the trait Foundation; scripts/packages tests the module -->
  /// ```swift
  /// let host = try FoundationHost(of: RunLoopKit.RunLoop.main)
  /// Foundation.RunLoop.main.run()  // serves Foundation, RunLoopKit, DispatchQueue.main and the main actor
  /// ```
  ///
  /// Foundation's loop makes at most one pass of this loop in each of its own passes, so that neither starves the
  /// other. While there is no work, both sleep in one wait, and nothing wakes them. Both serve the main dispatch queue,
  /// and each function of the queue runs once. While the host is attached, a run of Foundation's loop does not finish.
  /// Foundation's loop retains the host until `detach()` or its own end, so the program need not retain it.
  ///
  /// Nesting: a callout of Foundation's loop may run this loop. A callout of this loop may run Foundation's loop, which
  /// serves this loop there too, to any depth; an item whose callout is on the stack is not called again.
  /// - Thread: The loop's own, which is the one that runs Foundation's loop, for all members.
  /// - SeeAlso: `RunLoop.prepareToWait(in:)`.
  public final class FoundationHost {
    /// The loop, which the host retains.
    public var loop: RunLoopKit.RunLoop { hosting.loop }
    /// The mode of `loop` that Foundation's loop serves.
    public var mode: RunLoopKit.RunLoop.Mode { hosting.mode }
    /// The mode of Foundation's loop that serves `mode`.
    public let foundationMode: Foundation.RunLoop.Mode
    /// The error for which Foundation's loop stopped serving this loop; nil if there was none. After an error the host
    /// is detached, as by `detach()`, and has printed the error on standard error.
    public var failure: (any Error)? { hosting.failure }

    private let hosting: LoopHosting
    /// Foundation's loop retains it. Nil if the host is detached, or that loop has ended.
    private weak var attachment: Attachment?
    private var descriptor: RunLoopKit.RunLoop.HostDescriptor
    /// Foundation's loop has made a pass that has neither served this loop nor slept.
    private var isPassedOver = false

    /// Attaches a mode of a loop to Foundation's loop of the calling thread, until `detach()`.
    ///
    /// The host creates one descriptor, an eventfd.
    /// - Parameters:
    ///   - loop: The calling thread's loop, which the host retains.
    ///   - mode: The one mode that the host serves. Other hosts may serve other modes of the loop, but not this one.
    ///   - foundationMode: While Foundation's loop runs in another mode, it does not serve this loop.
    ///   - onStop: Called on the loop's thread after another thread, or a callout of either loop, has called `stop()`;
    ///     not after `detach()`. For example `{ CFRunLoopStop(CFRunLoopGetCurrent()) }`. Released with the host.
    /// - Throws: As `RunLoop.hostDescriptor(in:)`; `.system` if there is no descriptor left.
    @available(*, noasync, message: "call it on a host's thread, not in a task or a main with a top-level await")
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
      // If a callout of Foundation's loop attaches the host, the pass of that callout may sleep without preparing the
      // loop. The bell ends that sleep, and the next pass prepares the loop.
      attachment?.ring()
    }

    /// Removes this loop from Foundation's loop. The wait of this loop ends. The program can run it or attach it again.
    ///
    /// In a child of fork(2) this does nothing, because Foundation's loop shares its descriptors with the parent.
    /// - Re-entry: Allowed in callouts of both loops.
    public func detach() {
      hosting.leave()
      guard let attachment else { return }
      self.attachment = nil
      if !hosting.isForked { attachment.remove() }
    }

    /// Whether Foundation's loop serves `loop`.
    public var isAttached: Bool { attachment?.isWhole ?? false }
  }

  // MARK: What Foundation's loop calls

  extension FoundationHost {
    /// A pass of Foundation's loop begins. A pass in which Foundation's loop has work does not sleep, and so does not
    /// prepare this loop; the descriptor may then not show this loop's work. After each such pass the bell therefore
    /// makes Foundation's loop serve this one.
    func passBegins() {
      if isPassedOver { attachment?.ring() }
      isPassedOver = true
    }

    /// Foundation's loop is about to sleep. It watches the descriptor edge-triggered, so that it does not spin while
    /// this loop is busy. An earlier pass may have used up an edge, so this function checks for work itself.
    func sleepBegins() {
      isPassedOver = false
      switch hosting.prepare() {
      case .hasWork: attachment?.ring()
      case .mayWait, .isBusy: break
      case .isOver: return detach()
      }
      watchAgain()
    }

    /// The descriptor has become readable, or the bell was rung: makes one pass of this loop.
    func serve() {
      isPassedOver = false
      if !hosting.serve() { detach() }
    }

    private static func warn(_ error: any Error) {
      let text = "RunLoopFoundation: the run loop leaves Foundation's: \(error)\n"
      _ = text.withCString { rlc_descriptor_write(STDERR_FILENO, $0, strlen($0)) }
    }

    /// Makes Foundation's loop watch the descriptor again if this loop has a new epoll instance under the same number.
    private func watchAgain() {
      guard hosting.descriptor != descriptor else { return }
      descriptor = hosting.descriptor
      attachment?.watchAgain(descriptor.fileDescriptor)
    }
  }
#else
  public import RunLoopKit

  /// Unavailable without the trait `Foundation` of the package.
  @available(
    *, unavailable, message: "RunLoopFoundation needs the trait Foundation: .package(…, traits: [\"Foundation\"])"
  )
  public struct FoundationHost {
    /// Unavailable like the type. Without this initializer the compiler would only report that there is none.
    @available(
      *, unavailable, message: "RunLoopFoundation needs the trait Foundation: .package(…, traits: [\"Foundation\"])"
    )
    public init(
      of loop: RunLoop, in mode: RunLoop.Mode = .default, foundationMode: RunLoop.Mode = .common,
      onStop: (() -> Void)? = nil
    ) throws {}
  }
#endif
