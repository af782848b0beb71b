#if NIO
  internal import CRunLoopCore
  public import NIOCore
  internal import NIOPosix
  public import RunLoopKit
  internal import RunLoopLibc

  /// Runs one mode of a run loop inside an event loop of SwiftNIO on the same thread: the thread serves both.
  ///
  /// <!-- not run: needs SwiftNIO; scripts/packages tests the module -->
  /// ```swift
  /// MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { eventLoop in
  ///   do { try NIOHost(of: .main, on: eventLoop) } catch { fatalError("\(error)") }
  /// }  // the main thread serves SwiftNIO, RunLoop.main, DispatchQueue.main and the main actor
  /// ```
  ///
  /// SwiftNIO makes at most one pass of the mode each time it has polled its descriptors, so that neither loop starves
  /// the other. While there is no work, both loops sleep in one wait, and nothing wakes them. The event loop retains
  /// the host until `detach()` or its own end: the program need not.
  ///
  /// After each pass the host prepares the loop for its sleep, and so calls the before-waiting observers. Calls that
  /// other code on the thread, such as a channel handler, makes later act as calls from another thread do: `perform`, a
  /// timer, a message and `wakeUp()` take effect at once, `signal()` alone and `enqueue` in the next pass.
  ///
  /// Nesting: a handler or task of the event loop may run the loop. A callout of the loop cannot run the event loop
  /// that has called it: SwiftNIO refuses to wait for an event loop on its own thread. If the program itself runs the
  /// loop, a callout may begin an event loop.
  /// - Thread: The loop's own, which is the event loop's, for all members.
  /// - SeeAlso: `RunLoop.prepareToWait(in:)`.
  public final class NIOHost {
    /// The loop, which the host retains.
    public var loop: RunLoop { hosting.loop }
    /// The mode of `loop` that the event loop serves.
    public var mode: RunLoop.Mode { hosting.mode }
    /// The event loop that serves `loop`.
    public let eventLoop: any EventLoop
    /// The error of the loop, the kernel or SwiftNIO for which the event loop stopped serving this loop; nil if there
    /// was none. After an error the host is detached, as by `detach()`, and has printed the error on standard error.
    public var failure: (any Error)? { attachFailure ?? hosting.failure }

    private let hosting: LoopHosting
    private let onStop: (() -> Void)?
    private let stopNote: StopNote
    /// The error that SwiftNIO or the kernel has reported to the host.
    private var attachFailure: (any Error)?
    /// Nil if the host is detached, or the event loop has ended.
    private var watch: Watch?
    /// The channel of SwiftNIO that reads the bell.
    private var channel: (any Channel)?
    /// Observes the ends of runs.
    private var observer: RunLoop.Observer?

    /// Attaches a mode of a loop to an event loop, until `detach()`.
    ///
    /// SwiftNIO cannot watch a descriptor without reading it. So all hosts of a process share a thread, `RunLoopNIO`,
    /// that sleeps until a loop has work; no code of the program runs there. Each host has two descriptors of its own.
    /// - Parameters:
    ///   - loop: The calling thread's loop, which the host retains.
    ///   - mode: A loop has one host at a time, which serves one mode; add items of several modes to `.common`.
    ///   - eventLoop: The calling thread's event loop, of a `MultiThreadedEventLoopGroup` or of
    ///     `MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop`.
    ///   - onStop: Called on the loop's thread after another thread, a handler of the event loop or a callout of the
    ///     loop has called `stop()`; not after `detach()`. A stop by another thread has no effect before the first
    ///     pass, and between a pass and the preparation that follows it, because the loop does not run then. The host
    ///     keeps the closure until its own release.
    /// - Throws: As `RunLoop.hostDescriptor(in:)`; `.wrongThread` if the event loop is another thread's;
    ///   `EventLoopError.unsupportedOperation` if it is of another kind; `.hostedElsewhere` if the loop has a host;
    ///   `.system` if there is no descriptor left, or no room for a thread; what SwiftNIO throws if it accepts no
    ///   channel, for example because the event loop shuts down.
    @available(*, noasync, message: "call it on a host's thread, not in a task or a main with a top-level await")
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
      // The first pass prepares the loop. This initialiser does not, because a callout of the loop may be running.
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

    /// Removes the loop from the event loop. The loop no longer waits; it can be attached again.
    ///
    /// In a child of fork(2) this removes nothing from the event loop, which shares its descriptors with the parent. A
    /// child must call exec or `_exit`. It must not return to the event loop, which would read the parent's data.
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

    /// Whether the event loop serves `loop`.
    public var isAttached: Bool { watch != nil }
  }

  /// Records that a stop has come.
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
            // A channel closes its descriptor even if it fails.
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

    /// Serves the loop each time SwiftNIO has read the bell. Reading resets the bell.
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
    /// Makes one pass, and prepares the loop for the event loop's next wait.
    private func serve() {
      guard hosting.serve() else { return detach() }
      switch hosting.prepare() {
      // The bell causes the next pass, not a task: the event loop polls its descriptors only when no task is left, so
      // tasks that follow each other would starve the descriptors.
      case .hasWork: watch?.bell.ring()
      case .mayWait: arm()
      // An outer `serve` is on the stack, and prepares the loop afterwards.
      case .isBusy: break
      case .isOver: detach()
      }
      reportStop()
    }

    /// Called after the preparation, because a stop between the pass and the preparation has no effect, and `onStop`
    /// may stop the loop.
    private func reportStop() {
      guard stopNote.take(), let watch, let onStop else { return }
      watch.bell.ring()  // the next pass serves work that `onStop` gives to the loop
      onStop()
    }

    private func arm() {
      do { try watch?.arm(hosting.descriptor) } catch { channelFails(error) }
    }

    /// Watches the ends of runs: a run in a handler of the event loop may replace the epoll instance, while the watch
    /// waits for the old one.
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
  public import RunLoopKit

  /// Unavailable without the trait `NIO` of the package.
  @available(*, unavailable, message: "RunLoopNIO needs the trait NIO: .package(…, traits: [\"NIO\"])")
  public struct NIOHost {
    /// Unavailable like the type. Without this initializer the compiler would only report that there is none.
    @available(*, unavailable, message: "RunLoopNIO needs the trait NIO: .package(…, traits: [\"NIO\"])")
    public init(
      of loop: RunLoop, in mode: RunLoop.Mode = .default, on eventLoop: Any, onStop: (() -> Void)? = nil
    ) throws {}
  }
#endif
