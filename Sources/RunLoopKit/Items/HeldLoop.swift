/// A loop that stays as long as this does. The calling thread's own is held by its thread, and needs no reference for
/// that. To be used by the thread that has made it.
package struct HeldLoop: ~Copyable {
  private let loop: Unmanaged<RunLoop>
  private let isRetained: Bool

  /// Of a loop that something else holds until the return.
  @inline(__always)
  package init(_ loop: Unmanaged<RunLoop>) {
    self.loop = loop
    isRetained = !loop._withUnsafeGuaranteedRef { $0.isHeldByCaller }
    if isRetained { _ = loop.retain() }
  }

  @inline(__always)
  borrowing func call<R>(_ body: (RunLoop) -> R) -> R { loop._withUnsafeGuaranteedRef(body) }

  deinit { if isRetained { loop.release() } }
}
