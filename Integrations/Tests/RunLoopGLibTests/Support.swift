import CGLib
import Glibc
import HostTestSupport
import RunLoopGLib
import RunLoopKit

import class RunLoopKit.RunLoop

/// A context of GLib's, iterated by the thread that has made it.
final class Context {
  let pointer: OpaquePointer = g_main_context_new()
  /// How often GLib has polled, in all contexts.
  static let polls = Box(0)

  init() {
    g_main_context_set_poll_func(pointer) { descriptors, count, timeout in
      Context.polls.update { $0 += 1 }
      return g_poll(descriptors, count, timeout)
    }
  }

  deinit { g_main_context_unref(pointer) }

  func turn(mayWait: Bool = true) { g_main_context_iteration(pointer, mayWait ? 1 : 0) }

  /// Up to its sleep.
  func prepare() {
    var priority: gint = 0
    g_main_context_acquire(pointer)
    g_main_context_prepare(pointer, &priority)
    g_main_context_release(pointer)
  }

  /// Waits for events only.
  func turn(until condition: () -> Bool) { while !condition() { turn() } }

  /// GLib's own: called until it answers false.
  @discardableResult
  func add(_ source: UnsafeMutablePointer<GSource>, priority: Int32 = 0, _ body: @escaping () -> Bool) -> guint {
    let callback = Unmanaged.passRetained(Callback(body)).toOpaque()
    g_source_set_callback(
      source, { Unmanaged<Callback>.fromOpaque($0!).takeUnretainedValue().body() ? 1 : 0 }, callback,
      { Unmanaged<Callback>.fromOpaque($0!).release() })
    g_source_set_priority(source, priority)
    defer { g_source_unref(source) }
    return g_source_attach(source, pointer)
  }

  func onTimeout(milliseconds: guint, _ body: @escaping () -> Bool) { add(g_timeout_source_new(milliseconds), body) }

  func onIdle(priority: Int32 = 0, _ body: @escaping () -> Bool) {
    add(g_idle_source_new(), priority: priority, body)
  }
}

private final class Callback {
  let body: () -> Bool
  init(_ body: @escaping () -> Bool) { self.body = body }
}
