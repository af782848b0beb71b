#if GLib
  internal import CGLib
  public import RunLoopKit

  /// Runs one mode of a run loop as a source of a `GMainContext`: each iteration of the context serves the loop.
  ///
  /// <!-- not run: needs GLib; scripts/packages tests the module -->
  /// ```swift
  /// let host = try GLibHost(of: .main)
  /// g_main_loop_run(mainLoop)  // serves GLib, RunLoop.main, DispatchQueue.main and the main actor
  /// ```
  ///
  /// GLib makes at most one pass of the loop in each of its iterations, so that neither starves the other. While there
  /// is no work, both sleep in GLib's poll, and nothing wakes them. The context retains the host until `detach()` or
  /// its own end, so the program need not retain it.
  ///
  /// Nesting: a GLib callback may run the loop. A callout of the loop may iterate the context, for example by a
  /// dialogue, a popup or a drag of GTK. Such an iteration serves the loop too, to any depth. An item whose callout is
  /// on the stack is not called again. A run of the loop in a callback or callout sleeps in GLib, which serves
  /// timeouts, descriptors and windows meanwhile.
  /// - Thread: The loop's own, which is the one that iterates the context, for all members.
  /// - SeeAlso: `RunLoop.prepareToWait(in:)`; in C, for an `rlc_loop`: `<crunloop/adapters/glib.h>`.
  public final class GLibHost {
    /// The loop, which the host retains.
    public var loop: RunLoop { hosting.loop }
    /// The mode that the context serves.
    public var mode: RunLoop.Mode { hosting.mode }
    /// The error for which the context stopped serving the loop; nil if there was none. After an error GLib has logged
    /// a warning, and the source is removed, as by `detach()`.
    public var failure: (any Error)? { hosting.failure }

    private let hosting: LoopHosting
    /// The context owns it. Nil after GLib has freed it.
    private var source: UnsafeMutablePointer<GSource>?
    private var watch: Watch?
    /// True while GLib prepares its sources: a prepare function must not iterate a context.
    private var isPreparing = false
    /// The depth of GLib's dispatches at which a run of the loop sleeps; nil if none does.
    private var sleepDepth: gint?
    private var end: EndSource?

    /// The descriptor that GLib polls.
    private struct Watch {
      let descriptor: RunLoop.HostDescriptor
      let tag: gpointer
      var isPolled = true
    }

    /// Attaches a mode of a loop to a context, until `detach()`.
    ///
    /// - Parameters:
    ///   - loop: The calling thread's loop, which the host retains.
    ///   - mode: The one mode that the host serves. Other hosts may serve other modes of the loop, but not this one.
    ///   - context: A `GMainContext *`, which the host does not retain; nil for the default context.
    ///   - priority: The priority of the GLib source; 0 is `G_PRIORITY_DEFAULT`. Sources of a lower priority wait while
    ///     the loop has work.
    ///   - onStop: Called on the loop's thread after another thread, a callback of GLib or a callout of the loop has
    ///     called `stop()`; not after `detach()`. For example `{ g_main_loop_quit(mainLoop) }`. Released with the
    ///     source.
    /// - Throws: As `RunLoop.hostDescriptor(in:)`.
    @available(*, noasync, message: "call it on a host's thread, not in a task or a main with a top-level await")
    @discardableResult
    public init(
      of loop: RunLoop, in mode: RunLoop.Mode = .default, context: OpaquePointer? = nil, priority: Int32 = 0,
      onStop: (() -> Void)? = nil
    ) throws {
      hosting = try LoopHosting(of: loop, in: mode, onStop: onStop, onFailure: GLibHost.warn)
      let source = HostSource.make(for: self)
      self.source = source
      poll(hosting.descriptor)
      g_source_set_can_recurse(source, 1)
      g_source_set_priority(source, priority)
      g_source_attach(source, context)
      g_source_unref(source)  // the context has its own reference
      hosting.sleep = { [weak self] descriptor, until in self?.sleep(on: descriptor, until: until) ?? false }
      // If a callback of GLib attaches the host, the iteration of that callback may sleep without preparing the loop.
      // The wake ends that sleep, and the next iteration prepares the loop.
      g_main_context_wakeup(context)
    }

    /// Removes the source from its context. The wait of the loop ends. The program can run it or attach it again.
    ///
    /// - Re-entry: Allowed in callouts of the loop and of GLib.
    public func detach() {
      // The end of the source may release the host.
      withExtendedLifetime(self) {
        if let source { g_source_destroy(source) }
        end.take()?.end()
        hosting.leave()
      }
    }

    /// Whether the context serves the loop.
    public var isAttached: Bool { source.map { g_source_is_destroyed($0) == 0 } ?? false }
  }

  // MARK: What GLib calls

  extension GLibHost {
    /// Returns true if there is work, so that GLib does not sleep. Also returns true once the loop has failed: the
    /// dispatch then removes the source.
    func prepare() -> Bool {
      if sleepDepth == g_main_depth(), hosting.isAsleep {  // a run sleeps in this iteration, and serves its own mode
        setPolled(false)
        return false
      }
      isPreparing = true
      defer { isPreparing = false }
      let preparation = hosting.prepare()
      switch preparation {
      case .isOver: return failure != nil
      case .isBusy: setPolled(false)
      case .hasWork, .mayWait: pollAgain()
      }
      return preparation == .hasWork
    }

    /// Returns true if the descriptor is readable.
    func check() -> Bool {
      guard let source, let watch else { return false }
      return g_source_query_unix_fd(source, watch.tag).rawValue != 0
    }

    /// Makes one pass. Returns false if GLib has to remove the source.
    func dispatch() -> Bool {
      let context = source.flatMap { g_source_get_context($0) }
      let depth = g_main_depth()
      hosting.serve()
      if g_main_depth() > depth { GLibHost.forgetDispatches(of: context) }
      return failure == nil
    }

    /// Makes GLib forget its list of sources to dispatch. Called if longjmp(3) in a callout has left a nested dispatch:
    /// GLib would continue with the nested dispatch's list in this one. The next iteration finds those sources ready
    /// again.
    private static func forgetDispatches(of context: OpaquePointer?) {
      var priority: gint = 0
      _ = g_main_context_prepare(context, &priority)
    }

    /// GLib is about to free the source: the host was detached, or the context has ended.
    func isFinalized() {
      (source, watch) = (nil, nil)
      end.take()?.end()
      hosting.leave()
    }

    private static func warn(_ error: any Error) {
      // Both strings live until the call returns.
      "the run loop leaves its context: \(error)".withCString { text in
        withVaList([text]) { g_logv("RunLoopGLib", G_LOG_LEVEL_WARNING, "%s", $0) }
      }
    }
  }

  // MARK: A run of the loop that sleeps in GLib

  extension GLibHost {
    /// Sleeps in one iteration, which serves GLib's sources, and returns true. Outside of a dispatch of GLib the call
    /// only returns false: there the program may run the loop without GLib.
    private func sleep(on descriptor: Int32, until: RunLoop.Instant) -> Bool {
      guard !isPreparing, g_main_depth() > 0, let source, let context = g_source_get_context(source),
        g_main_context_is_owner(context) != 0
      else { return false }
      let depth = g_main_depth()
      let outer = sleepDepth
      sleepDepth = depth
      // The iteration may detach the host, and nested runs in it may sleep too.
      withExtendedLifetime(self) { endSource(descriptor, depth, in: context).sleep(until: until, in: context) }
      sleepDepth = outer
      return true
    }

    private func endSource(_ descriptor: Int32, _ depth: gint, in context: OpaquePointer) -> EndSource {
      if let end, end.serves(descriptor, depth: depth) { return end }
      end?.end()
      let made = EndSource(descriptor, depth: depth, in: context)
      end = made
      return made
    }
  }

  // MARK: The descriptor

  extension GLibHost {
    private func poll(_ descriptor: RunLoop.HostDescriptor) {
      guard let source else { return }
      if let watch { g_source_remove_unix_fd(source, watch.tag) }
      // GLib returns nil only for a source that is destroyed; this one is not.
      watch = Watch(
        descriptor: descriptor, tag: g_source_add_unix_fd(source, descriptor.fileDescriptor, G_IO_IN)!)
    }

    /// Polls the descriptor again. If its number now belongs to a new epoll instance, adds it again: the context may
    /// have a poll function that uses epoll, which must be told of the new instance.
    private func pollAgain() {
      guard isAttached else { return }
      if hosting.descriptor == watch?.descriptor { setPolled(true) } else { poll(hosting.descriptor) }
    }

    private func setPolled(_ isPolled: Bool) {
      guard let source, let watch, watch.isPolled != isPolled else { return }
      g_source_modify_unix_fd(source, watch.tag, isPolled ? G_IO_IN : GIOCondition(rawValue: 0))
      self.watch?.isPolled = isPolled
    }
  }
#else
  public import RunLoopKit

  /// Unavailable without the trait `GLib` of the package.
  @available(*, unavailable, message: "RunLoopGLib needs the trait GLib: .package(…, traits: [\"GLib\"])")
  public struct GLibHost {
    /// Unavailable like the type. Without this initializer the compiler would only report that there is none.
    @available(*, unavailable, message: "RunLoopGLib needs the trait GLib: .package(…, traits: [\"GLib\"])")
    public init(
      of loop: RunLoop, in mode: RunLoop.Mode = .default, context: OpaquePointer? = nil, priority: Int32 = 0,
      onStop: (() -> Void)? = nil
    ) throws {}
  }
#endif
