/// Keeps a loop alive for one thread. It retains the loop, unless the loop is the thread's own, which the thread
/// retains. Only the thread that made the value may use it.
package struct HeldLoop: ~Copyable {
  private let loop: Unmanaged<RunLoop>
  private let isRetained: Bool

  /// The caller must see to it that the loop is retained until this returns.
  package init(_ loop: Unmanaged<RunLoop>) {
    self.loop = loop
    isRetained = !loop._withUnsafeGuaranteedRef { $0.isHeldByCaller }
    if isRetained { _ = loop.retain() }
  }

  /// True if the loop is the calling thread's own.
  @inline(__always)
  var isCallers: Bool { !isRetained }

  @inline(__always)
  borrowing func call<R>(_ body: (RunLoop) -> R) -> R { loop._withUnsafeGuaranteedRef(body) }

  deinit { if isRetained { loop.release() } }
}
