public import RunLoopKit

extension RunLoop {
  /// The loop's handle for the functions of `<runloopkit/runloopkit.h>`: an `rlk_loop *`, valid while the loop is
  /// retained.
  ///
  /// To keep it longer, call `rlk_loop_retain`.
  /// - Thread: Any.
  public var handle: OpaquePointer { borrowed(self) }

  /// Returns the loop of a valid `rlk_loop *` [RLK-C-9].
  ///
  /// - Parameter handle: Borrowed. It must be the handle of a loop: the call does not check it.
  /// - Returns: The loop.
  /// - Thread: Any.
  public static func loop(ofHandle handle: OpaquePointer) -> RunLoop {
    // The caller promises that it is the handle of a loop.
    Unmanaged<RunLoop>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
  }
}
