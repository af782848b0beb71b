#if GLib
  internal import CGLib
  internal import RunLoopKit

  /// A GSource with its host. GLib allocates it, counts its references and frees it.
  struct HostSource {
    /// First, so that a pointer to this structure is a pointer to the source.
    private var source: GSource
    private var host: Unmanaged<GLibHost>?

    /// Retains the host until the source is finalized. The caller owns a reference to the source.
    static func make(for host: GLibHost) -> UnsafeMutablePointer<GSource> {
      // GLib ends the process if it has no memory.
      let source = g_source_new(functions, guint(MemoryLayout<HostSource>.size))!
      own(source).pointee.host = .passRetained(host)
      return source
    }

    private static func own(_ source: UnsafeMutablePointer<GSource>?) -> UnsafeMutablePointer<HostSource> {
      // `make` has allocated a HostSource.
      UnsafeMutableRawPointer(source!).assumingMemoryBound(to: HostSource.self)
    }

    fileprivate static func host(of source: UnsafeMutablePointer<GSource>?) -> GLibHost? {
      own(source).pointee.host?.takeUnretainedValue()
    }

    fileprivate static func releaseHost(of source: UnsafeMutablePointer<GSource>?) {
      own(source).pointee.host?.release()
      own(source).pointee.host = nil
    }

    /// Written once; GLib keeps the address.
    nonisolated(unsafe) private static let functions: UnsafeMutablePointer<GSourceFuncs> = {
      let functions = UnsafeMutablePointer<GSourceFuncs>.allocate(capacity: 1)
      functions.initialize(to: GSourceFuncs())
      functions.pointee.prepare = prepareHost
      functions.pointee.check = checkHost
      functions.pointee.dispatch = dispatchHost
      functions.pointee.finalize = finalizeHost
      return functions
    }()
  }

  private func prepareHost(_ source: UnsafeMutablePointer<GSource>?, _ timeout: UnsafeMutablePointer<gint>?) -> gboolean
  {
    timeout?.pointee = -1  // no limit: the loop's timers show on the descriptor
    return HostSource.host(of: source)?.prepare() == true ? 1 : 0
  }

  private func checkHost(_ source: UnsafeMutablePointer<GSource>?) -> gboolean {
    HostSource.host(of: source)?.check() == true ? 1 : 0
  }

  private func dispatchHost(
    _ source: UnsafeMutablePointer<GSource>?, _ callback: GSourceFunc?, _ data: gpointer?
  ) -> gboolean {
    HostSource.host(of: source)?.dispatch() == true ? 1 : 0
  }

  private func finalizeHost(_ source: UnsafeMutablePointer<GSource>?) {
    HostSource.host(of: source)?.isFinalized()
    HostSource.releaseHost(of: source)
  }
#endif
