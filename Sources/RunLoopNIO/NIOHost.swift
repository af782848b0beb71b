#if NIO
  internal import CRunLoopCore
  public import NIOCore
  internal import NIOPosix
  public import RunLoopKit
  internal import RunLoopLibc

  /// A mode of a run loop inside an event loop of SwiftNIO on the same thread: the thread serves both.
  ///
  /// ```swift
  /// MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { eventLoop in
  ///   do { try NIOHost(of: .main, on: eventLoop) } catch { fatalError("\(error)") }
  /// }  // the main thread serves SwiftNIO, RunLoop.main, DispatchQueue.main and the main actor
  /// ```
  ///
  /// SwiftNIO makes at most one pass of the mode each time it has polled its descriptors, so that neither side starves
  /// the other. While nothing is to be done, both sleep in one wait, and nothing wakes them. The event loop holds the
  /// host until `detach()` or its own end: a program need not keep it.
  ///
  /// After each pass the host prepares the loop for its sleep; observers of before-waiting are notified then. What
  /// other code of the thread asks of the loop later, such as a channel handler, takes effect at once if it would from
  /// another thread: a block of `perform`, a timer, a message, `wakeUp()`. A `signal()` alone or an `enqueue` waits for
  /// the next pass, as there.
  ///
  /// Nesting: a handler or task of the event loop may run the loop. A callout of the loop cannot run the event loop
  /// that has called it: SwiftNIO refuses to wait for it on its own thread. Another event loop may begin in a callout
  /// of a run.
  /// - Thread: The loop's own, which is the event loop's, for all members.
  /// - SeeAlso: `RunLoop.prepareToWait(in:)`.
  public final class NIOHost {
    /// The loop, which the host retains.
    public var loop: RunLoop { hosting.loop }
    /// The mode of `loop` that is served.
    public var mode: RunLoop.Mode { hosting.mode }
    /// The event loop that serves it.
    public let eventLoop: any EventLoop
    /// Why the event loop serves this one no more: what the loop, the kernel or SwiftNIO has thrown. Then a line on
    /// standard error has told of it, and the host is gone, as after `detach()`.
    public var failure: (any Error)? { attachFailure ?? hosting.failure }

    private let hosting: LoopHosting
    private let onStop: (() -> Void)?
    private let stopNote: StopNote
    /// What SwiftNIO or the kernel has thrown.
    private var attachFailure: (any Error)?
    /// Nil: detached, or the event loop has ended.
    private var watch: Watch?
    /// SwiftNIO's, which reads the bell.
    private var channel: (any Channel)?
    /// Of the ends of runs.
    private var observer: RunLoop.Observer?

    /// Attaches a mode of a loop to an event loop, until `detach()`.
    ///
    /// SwiftNIO cannot merely watch a descriptor. So all hosts of a process share a thread, `RunLoopNIO`, that sleeps
    /// until a loop has work; no code of the program runs there. A host has two descriptors of its own.
    /// - Parameters:
    ///   - loop: The calling thread's. Retained.
    ///   - mode: A loop has one host at a time, which serves one mode; the items of `.common` are in each common mode.
    ///   - eventLoop: The calling thread's, of a `MultiThreadedEventLoopGroup` or of
    ///     `MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop`.
    ///   - onStop: Called on the loop's thread after `stop()` was called, by another thread, a handler or a callout of
    ///     the loop; not after `detach()`. A stop by another thread between a pass and the preparation that follows, or
    ///     before the first one, is ignored, as by a loop that does not run. Released with the host.
    /// - Throws: As `RunLoop.hostDescriptor(in:)`; `.wrongThread` if the event loop is another thread's;
    ///   `EventLoopError.unsupportedOperation` if it is of another kind; `.hostedElsewhere` if the loop has a host;
    ///   `.system` if there is no descriptor left, or no room for a thread; what SwiftNIO throws if it takes no
    ///   channel, such as an event loop that shuts down.
    @available(*, noasync, message: "hosting belongs to a thread: call it outside of tasks")
    @discardableResult
    public init(
      of loop: RunLoop, in mode: RunLoop.Mode = .default, on eventLoop: any EventLoop, onStop: (() -> Void)? = nil
    ) throws {
      let stopNote = StopNote()
      let hosting = try LoopHosting(
        of: loop, in: mode, onStop: { stopNote.isStopped = true }, onFailure: NIOHost.warn)
      guard eventLoop.inEventLoop else { throw RunLoopError.wrongThread }
      guard let bootstrap = NIOPipeBootstrap(validatingGroup: eventLoop) else {
        throw EventLoopError.unsupportedOperation
      }
      if let other = ThreadHost.current { throw Self.secondHost(beside: other) }
      (self.hosting, self.onStop, self.stopNote) = (hosting, onStop, stopNote)
      self.eventLoop = eventLoop
      try ThreadHost.prepare()
      let watch = try Watch()
      try watch.arm(hosting.descriptor)
      let bell = try watch.bell.duplicate()
      self.watch = watch
      // The loop is prepared after a first pass, and not here, where a callout of the loop may be under way.
      watch.bell.ring()
      ThreadHost.current = self
      attach(bell, by: bootstrap)
      if let failure { throw failure }
      do { try watchRuns() } catch {
        detach()
        throw error
      }
    }

    private static func secondHost(beside other: NIOHost) -> RunLoopError {
      RunLoopError(
        .runLoop, code: RunLoopError.hostedElsewhere.code, call: "NIOHost",
        "the loop has a host already, for the mode \"\(other.mode.rawValue)\": detach that one before, or add the items "
          + "of both modes to .common")
    }

    /// Removes the loop from the event loop. It lives on, waits no more, and can be attached again.
    ///
    /// In a child of fork(2) this takes nothing out of the event loop: what that one sleeps on is the parent's, too. A
    /// child must not return to the event loop, which would read what is meant for its parent: it calls exec or
    /// `_exit`.
    /// - Re-entry: Allowed in callouts of the loop, and in handlers and tasks of the event loop.
    public func detach() {
      hosting.leave()
      guard watch != nil else { return }
      watch = nil
      let (channel, observer) = (channel.take(), observer.take())
      guard !hosting.isForked else { return }
      if ThreadHost.current === self { ThreadHost.current = nil }
      observer?.invalidate()
      channel?.close(promise: nil)
    }

    /// Whether the event loop serves this one.
    public var isAttached: Bool { watch != nil }
  }

  /// That a stop has come.
  private final class StopNote {
    var isStopped = false

    func take() -> Bool {
      defer { isStopped = false }
      return isStopped
    }
  }

  // MARK: The channel

  extension NIOHost {
    private func attach(_ bell: Int32, by bootstrap: NIOPipeBootstrap) {
      let host = NIOLoopBound(self, eventLoop: eventLoop)
      let hasChannel = NIOLoopBoundBox(false, eventLoop: eventLoop)
      bootstrap
        .channelInitializer { channel in
          hasChannel.value = true
          return channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Handler(host.value))
          }
        }
        .takingOwnershipOfDescriptor(input: bell)
        .whenComplete { result in
          switch result {
          case .success(let channel): host.value.isActive(channel)
          case .failure(let error):
            // A channel closes its descriptor, also if it fails.
            if !hasChannel.value { close(bell) }
            host.value.channelFails(error)
          }
        }
    }

    private func channelFails(_ error: any Error) {
      attachFailure = error
      if observer != nil { Self.warn(error) }  // else the initialiser throws it
      detach()
    }

    private func isActive(_ channel: any Channel) {
      if isAttached { self.channel = channel } else { channel.close(promise: nil) }
    }

    /// SwiftNIO reads the bell, and so resets it.
    private final class Handler: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer

      private let host: NIOHost

      init(_ host: NIOHost) { self.host = host }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) { host.serve() }

      func channelInactive(context: ChannelHandlerContext) { host.detach() }

      func errorCaught(context: ChannelHandlerContext, error: any Error) { host.channelFails(error) }
    }
  }

  // MARK: Passes

  extension NIOHost {
    /// One pass, and the preparation of the event loop's next wait.
    private func serve() {
      guard hosting.serve() else { return detach() }
      switch hosting.prepare() {
      // Not by a task: those come before what the event loop has got.
      case .hasWork: watch?.bell.ring()
      case .mayWait: arm()
      // The call around this one prepares the loop when it has returned.
      case .isBusy: break
      case .isOver: detach()
      }
      tellOfStop()
    }

    /// Only now: a further stop is not lost, since the loop is prepared.
    private func tellOfStop() {
      guard stopNote.take(), let watch, let onStop else { return }
      watch.bell.ring()  // what it asks of the loop is found as what a callout asks for
      onStop()
    }

    private func arm() {
      do { try watch?.arm(hosting.descriptor) } catch { channelFails(error) }
    }

    /// A run of the event loop's own code may have replaced the epoll instance, and the watch waits for the old one.
    private func watchRuns() throws {
      try loop.assumeOnLoop { local in
        observer = try local.observer(.exit, order: .max, in: mode) { [weak self] _, _ in self?.runEnds() }
      }
      observer?.label = "NIOHost"
    }

    private func runEnds() {
      guard let watch, let descriptor = try? loop.hostDescriptor(in: mode) else { return }
      if descriptor != watch.descriptor { watch.bell.ring() }
    }

    private static func warn(_ error: any Error) {
      let text = "RunLoopNIO: the run loop leaves its event loop: \(error)\n"
      _ = text.withCString { rlc_descriptor_write(STDERR_FILENO, $0, strlen($0)) }
    }
  }
#else
  /// Nothing without the trait `NIO` of the package.
  @available(*, unavailable, message: "RunLoopNIO needs the trait NIO: .package(…, traits: [\"NIO\"])")
  public enum NIOHost {}
#endif
