import CGLib
import Glibc
import RunLoopGLib
import RunLoopKit

import class RunLoopKit.RunLoop

/// A value that threads share.
final class Box<Value>: @unchecked Sendable {
  private var mutex = pthread_mutex_t()
  private var stored: Value

  init(_ value: Value) {
    stored = value
    pthread_mutex_init(&mutex, nil)
  }

  deinit { pthread_mutex_destroy(&mutex) }

  var value: Value {
    get { update { $0 } }
    set { update { $0 = newValue } }
  }

  func update<Result>(_ body: (inout Value) -> Result) -> Result {
    pthread_mutex_lock(&mutex)
    defer { pthread_mutex_unlock(&mutex) }
    return body(&stored)
  }
}

/// A thread without a loop.
final class OtherThread {
  private var id = pthread_t()

  init(_ body: @escaping @Sendable () -> Void) {
    final class Start {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let status = pthread_create(
      &id, nil,
      {
        Unmanaged<Start>.fromOpaque($0!).takeRetainedValue().body()
        return nil
      }, Unmanaged.passRetained(Start(body)).toOpaque())
    precondition(status == 0, "pthread_create: \(status)")
  }

  func join() { pthread_join(id, nil) }
}

/// A thread that is waited for.
func onOtherThread(_ body: @escaping @Sendable () -> Void) { OtherThread(body).join() }

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
