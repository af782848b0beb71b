public import RunLoopKit

extension RunLoop {
  /// The loop as `<runloopkit/runloopkit.h>` knows it: an `rlk_loop *`, valid for as long as somebody holds the loop.
  ///
  /// To keep it longer, call `rlk_loop_retain`.
  /// - Thread: Any.
  public var handle: OpaquePointer { borrowed(self) }

  /// The loop of an `rlk_loop *` that is valid [RLK-C-9].
  ///
  /// - Parameter handle: Borrowed; a pointer that is no handle of a loop is not recognised.
  /// - Returns: The object whose handle it is.
  /// - Thread: Any.
  public static func loop(ofHandle handle: OpaquePointer) -> RunLoop {
    // The caller's promise.
    Unmanaged<RunLoop>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
  }
}
