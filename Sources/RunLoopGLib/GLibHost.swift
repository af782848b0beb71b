#if GLib
  internal import CGLib
  public import RunLoopKit

  /// Runs one mode of a run loop as a source of a `GMainContext`: each iteration of the context serves the loop.
  ///
  /// ```swift
  /// let host = try GLibHost(of: .main)
  /// g_main_loop_run(mainLoop)  // serves GLib, RunLoop.main, DispatchQueue.main and the main actor
  /// ```
  ///
  /// GLib makes at most one pass of the loop in each of its iterations, so that neither side starves the other. While
  /// nothing is to be done, both sleep in GLib's poll, and nothing wakes them. The context holds the host until
  /// `detach()` or its own end: a program need not keep it.
  ///
  /// Nesting: a GLib callback may run the loop. A callout of the loop may iterate the context, such as by a dialogue, a
  /// popup or a drag of GTK: there GLib serves the loop as well, to any depth, but not what is in its callout. A run of
  /// the loop in a callback or callout sleeps in GLib: timeouts, descriptors and windows go on meanwhile.
  /// - Thread: The loop's own, which is the one that iterates the context, for all members.
  /// - SeeAlso: `RunLoop.prepareToWait(in:)`; in C, for an `rlc_loop`: `<crunloop/adapters/glib.h>`.
  public final class GLibHost {
    /// The loop, which the host retains.
    public var loop: RunLoop { hosting.loop }
    /// The mode that the context serves.
    public var mode: RunLoop.Mode { hosting.mode }
    /// Why the context serves the loop no more: what the loop has thrown. Then GLib logs a warning, and the source is
    /// gone, as after `detach()`.
    public var failure: (any Error)? { hosting.failure }

    private let hosting: LoopHosting
    /// The context owns it. Nil: detached, or the context is gone.
    private var source: UnsafeMutablePointer<GSource>?
    private var watch: Watch?
    /// True while GLib prepares its sources: a prepare function must not iterate a context.
    private var isPreparing = false
    /// The depth of GLib's dispatches in which a run of the loop sleeps; nil: none does.
    private var sleepDepth: gint?
    private var end: EndSource?

    /// The descriptor as GLib polls it.
    private struct Watch {
      let descriptor: RunLoop.HostDescriptor
      let tag: gpointer
      var isPolled = true
    }

    /// Attaches a mode of a loop to a context, until `detach()`.
    ///
    /// - Parameters:
    ///   - loop: The calling thread's. Retained.
    ///   - mode: Each host serves one mode; a loop may have several hosts, a mode one at a time.
    ///   - context: A `GMainContext *`, of which GLib counts the references; nil: the default one.
    ///   - priority: As of any GLib source; 0 is `G_PRIORITY_DEFAULT`. Sources of a lower priority wait while the loop
    ///     has work.
    ///   - onStop: Called on the loop's thread after `stop()` was called, by another thread, a callback of GLib or a
    ///     callout of the loop, such as `{ g_main_loop_quit(mainLoop) }`; not after `detach()`. Released with the
    ///     source.
    /// - Throws: As `RunLoop.hostDescriptor(in:)`.
    @available(*, noasync, message: "hosting belongs to a thread: call it outside of tasks")
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
      // Attached by what an iteration calls before its sleep, it is prepared in the next one.
      g_main_context_wakeup(context)
    }

    /// Removes the source from its context. The loop lives on, waits no more, and can be attached again.
    ///
    /// - Re-entry: Allowed in callouts of the loop and of GLib.
    public func detach() {
      // Its finalization may release the host.
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
    /// True: there is work, so GLib does not sleep. A loop that has failed is dispatched once more, which removes the
    /// source.
    func prepare() -> Bool {
      if sleepDepth == g_main_depth(), hosting.isAsleep {  // this is the run's own sleep, which serves the run's mode
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

    /// True: the descriptor is readable.
    func check() -> Bool {
      guard let source, let watch else { return false }
      return g_source_query_unix_fd(source, watch.tag).rawValue != 0
    }

    /// One pass. False: the source is to be removed.
    func dispatch() -> Bool {
      let context = source.flatMap { g_source_get_context($0) }
      let depth = g_main_depth()
      hosting.serve()
      if g_main_depth() > depth { GLibHost.forgetDispatches(of: context) }
      return failure == nil
    }

    /// GLib keeps the list of a dispatch that longjmp(3) has left in a callout, and takes it for that of this dispatch.
    /// The next iteration finds the sources in it ready again.
    private static func forgetDispatches(of context: OpaquePointer?) {
      var priority: gint = 0
      _ = g_main_context_prepare(context, &priority)
    }

    /// GLib frees the source: the context is gone, if the host was not detached.
    func isFinalized() {
      (source, watch) = (nil, nil)
      end.take()?.end()
      hosting.leave()
    }

    private static func warn(_ error: any Error) {
      // Two strings, which live until the call is over.
      "the run loop leaves its context: \(error)".withCString { text in
        withVaList([text]) { g_logv("RunLoopGLib", G_LOG_LEVEL_WARNING, "%s", $0) }
      }
    }
  }

  // MARK: A run of the loop that sleeps in GLib

  extension GLibHost {
    /// One iteration, which serves GLib's sources; only inside of one, since the program may run its loop by itself.
    private func sleep(on descriptor: Int32, until: RunLoop.Instant) -> Bool {
      guard !isPreparing, g_main_depth() > 0, let source, let context = g_source_get_context(source),
        g_main_context_is_owner(context) != 0
      else { return false }
      let depth = g_main_depth()
      let outer = sleepDepth
      sleepDepth = depth
      // The iteration may detach the host, and runs in it may sleep, too.
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
      // The tag of a source that has no such descriptor yet.
      watch = Watch(
        descriptor: descriptor, tag: g_source_add_unix_fd(source, descriptor.fileDescriptor, G_IO_IN)!)
    }

    /// The descriptor's number now belongs to a new epoll instance. A context whose poll function uses epoll must watch
    /// it anew; one that calls poll(2) need not.
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
  /// Nothing without the trait `GLib` of the package.
  @available(*, unavailable, message: "RunLoopGLib needs the trait GLib: .package(…, traits: [\"GLib\"])")
  public enum GLibHost {}
#endif
