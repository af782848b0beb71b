#if GLib
  internal import CGLib
  internal import RunLoopKit

  /// A GSource that ends an iteration of GLib in which a run of the loop sleeps. The source becomes ready when the
  /// descriptor of the run's mode is readable, or at a given time.
  ///
  /// The source stays attached for the next sleep, because adding or removing a source with a descriptor wakes its
  /// context. If it becomes ready while no run sleeps by it, GLib removes it.
  struct EndSource {
    private let source: UnsafeMutablePointer<GSource>
    private let descriptor: Int32
    private let depth: gint

    private struct Record {
      /// First, so that a pointer to the record is a pointer to the source.
      private var source: GSource
      /// The depth of GLib's dispatches at which a run sleeps by this source; -1 if none does.
      fileprivate var sleepDepth: gint
    }

    /// Makes the source for a run inside of `depth` dispatches.
    init(_ descriptor: Int32, depth: gint, in context: OpaquePointer) {
      // GLib ends the process if it has no memory.
      source = g_source_new(Self.functions, guint(MemoryLayout<Record>.size))!
      self.descriptor = descriptor
      self.depth = depth
      record.pointee.sleepDepth = -1
      g_source_add_unix_fd(source, descriptor, G_IO_IN)
      g_source_attach(source, context)
    }

    func serves(_ descriptor: Int32, depth: gint) -> Bool {
      descriptor == self.descriptor && depth == self.depth && g_source_is_destroyed(source) == 0
    }

    /// Makes one iteration of the context.
    func sleep(until: RunLoop.Instant, in context: OpaquePointer) {
      let microseconds = until.nanoseconds / 1000 + (until.nanoseconds % 1000 == 0 ? 0 : 1)
      g_source_set_ready_time(source, until == .distantFuture ? -1 : gint64(clamping: microseconds))
      record.pointee.sleepDepth = depth
      // A callback in the iteration may end this source, and may release the context.
      g_source_ref(source)
      g_main_context_ref(context)
      g_main_context_iteration(context, 1)
      record.pointee.sleepDepth = -1
      g_main_context_unref(context)
      g_source_unref(source)
    }

    /// Removes and releases the source.
    func end() {
      g_source_destroy(source)
      g_source_unref(source)
    }

    private var record: UnsafeMutablePointer<Record> { Self.record(source) }

    private static func record(_ source: UnsafeMutablePointer<GSource>) -> UnsafeMutablePointer<Record> {
      // `init` has allocated a Record.
      UnsafeMutableRawPointer(source).assumingMemoryBound(to: Record.self)
    }

    /// Written once; GLib keeps the address.
    nonisolated(unsafe) private static let functions: UnsafeMutablePointer<GSourceFuncs> = {
      let functions = UnsafeMutablePointer<GSourceFuncs>.allocate(capacity: 1)
      functions.initialize(to: GSourceFuncs())
      // Keeps the source only in the iteration of the run that sleeps: a dialogue in a callback iterates deeper.
      functions.pointee.dispatch = { source, _, _ in
        EndSource.record(source!).pointee.sleepDepth == g_main_depth() - 1 ? 1 : 0
      }
      return functions
    }()
  }
#endif
