internal import CRunLoopKit
internal import RunLoopKit

// The bodies of <runloopkit/perform.h>; what they promise stands there.

/// Nil if one of them is no UTF-8.
func namedModes(_ names: UnsafePointer<UnsafePointer<CChar>?>?, _ count: Int) -> [RunLoop.Mode]? {
  guard let names, count > 0 else { return [.default] }
  var modes: [RunLoop.Mode] = []
  for index in 0..<count {
    guard let mode = mode(names[index]) else { return nil }
    modes.append(mode)
  }
  return modes
}

/// Work as C has described it.
struct Work {
  let modes: [RunLoop.Mode]
  let held: Held<rlk_perform_fn>

  init?(_ given: UnsafePointer<rlk_work>?) {
    guard let given = options(given), let perform = given.perform else { return nil }
    guard let modes = namedModes(given.modes, given.mode_count) else { return nil }
    self.modes = modes
    held = Held(perform, given.context, given.release)
  }

  /// Runs the function, when the loop calls the answer.
  var block: @Sendable () -> Void {
    { [held] in held.function(held.context) }
  }
}

@c @implementation
func rlk_loop_perform(
  _ handle: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ perform: rlk_perform_fn!,
  _ context: UnsafeMutableRawPointer!
) -> Int32 {
  guard let given = perform, let mode = mode(name) else { return Status.invalid }
  // The caller's word: the function may be called with the context on the loop's thread.
  nonisolated(unsafe) let (perform, context) = (given, context)
  return Status.of {
    try loop(handle).perform(in: mode) { @Sendable in perform(context) }
    return 0
  }
}

@c @implementation
func rlk_loop_perform_work(_ handle: OpaquePointer!, _ given: UnsafePointer<rlk_work>!) -> Int32 {
  guard let work = Work(given) else { return Status.invalid }
  return handingOver(work.held) { _ in
    try loop(handle).perform(in: work.modes[0], orIn: work.modes.dropFirst(), block: work.block)
    return 0
  }
}

@c @implementation
func rlk_loop_enqueue_work(_ handle: OpaquePointer!, _ given: UnsafePointer<rlk_work>!) -> Int32 {
  guard let work = Work(given) else { return Status.invalid }
  return handingOver(work.held) { _ in
    try loop(handle).enqueue(in: work.modes[0], orIn: work.modes.dropFirst(), block: work.block)
    return 0
  }
}
