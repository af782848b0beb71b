package import CRunLoopKit
internal import RunLoopKit

// The functions of <runloopkit/perform.h>, where their contracts stand.

/// Returns the modes with these names; nil if one of them is no UTF-8, or if `count`, a size_t, is too large for Int
/// and so is negative.
func namedModes(_ names: UnsafePointer<UnsafePointer<CChar>?>?, _ count: Int) -> [RunLoop.Mode]? {
  guard count >= 0 else { return nil }
  guard let names, count > 0 else { return [] }
  var modes: [RunLoop.Mode] = []
  for index in 0..<count {
    guard let mode = mode(names[index]) else { return nil }
    modes.append(mode)
  }
  return modes
}

/// The work that an `rlk_work` describes.
struct Work {
  let modes: RunLoop.NamedModes
  let held: Held<rlk_perform_fn>

  /// Nil if the structure is invalid; the caller then keeps the context.
  init?(_ given: UnsafePointer<rlk_work>?, inOneMode: Bool = false) {
    guard let given = options(given), let perform = given.perform else { return nil }
    guard !inOneMode || given.mode_count <= 1 else { return nil }
    guard let modes = namedModes(given.modes, given.mode_count) else { return nil }
    self.modes = RunLoop.NamedModes(modes)
    held = Held(perform, given.context, given.release)
  }

  var block: @Sendable () -> Void {
    { [held] in held.call { $0($1) } }
  }
}

@c @implementation
package func rlk_loop_perform(
  _ handle: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ perform: rlk_perform_fn!,
  _ context: UnsafeMutableRawPointer!
) -> Int32 {
  guard let given = perform, let mode = mode(name) else { return Status.invalid }
  // The contract allows calling the function with its context on the loop's thread.
  nonisolated(unsafe) let (perform, context) = (given, context)
  let loop = loop(handle)
  RaceDetector.handOver(loop)
  return Status.of {
    try loop.perform(in: mode) { @Sendable [unowned loop] in
      RaceDetector.takeOver(loop)
      perform(context)
    }
    return 0
  }
}

@c @implementation
package func rlk_loop_perform_work(_ handle: OpaquePointer!, _ given: UnsafePointer<rlk_work>!) -> Int32 {
  guard let work = Work(given) else { return Status.invalid }
  return handingOver(work.held) { _ in
    try loop(handle).perform(in: work.modes, block: work.block)
    return 0
  }
}

@c @implementation
package func rlk_loop_enqueue_work(_ handle: OpaquePointer!, _ given: UnsafePointer<rlk_work>!) -> Int32 {
  guard let work = Work(given) else { return Status.invalid }
  return handingOver(work.held) { _ in
    try loop(handle).enqueue(in: work.modes, block: work.block)
    return 0
  }
}

@c @implementation
package func rlk_loop_perform_as_source(_ handle: OpaquePointer!, _ given: UnsafePointer<rlk_work>!) -> Int32 {
  guard let work = Work(given) else { return Status.invalid }
  return handingOver(work.held) { _ in
    try loop(handle).performAsSource(in: work.modes, block: work.block)
    return 0
  }
}

@c @implementation
package func rlk_loop_perform_when_idle(_ handle: OpaquePointer!, _ given: UnsafePointer<rlk_work>!) -> Int32 {
  guard let work = Work(given, inOneMode: true) else { return Status.invalid }
  return handingOver(work.held) { _ in
    // With a label, since a slow block would be named by this line otherwise.
    try loop(handle).performWhenIdle(in: work.modes.first, label: "block", block: work.block)
    return 0
  }
}

@c @implementation
package func rlk_loop_perform_and_wait(
  _ handle: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ timeout_ns: UInt64, _ perform: rlk_perform_fn!,
  _ context: UnsafeMutableRawPointer!
) -> Int32 {
  guard let perform, let mode = mode(name) else { return Status.invalid }
  let loop = loop(handle)
  RaceDetector.handOver(loop)
  return Status.of {
    defer { RaceDetector.takeOver(loop) }
    let block = {
      RaceDetector.takeOver(loop)
      perform(context)
      RaceDetector.handOver(loop)
    }
    try loop.performAndWait(in: mode, timeout: limit(timeout_ns), leaving: block)
    return 0
  }
}

// MARK: After a delay

@c @implementation
package func rlk_loop_perform_after(
  _ handle: OpaquePointer!, _ delay_ns: UInt64, _ tolerance_ns: UInt64, _ given: UnsafePointer<rlk_work>!,
  _ ret_delayed: UnsafeMutablePointer<OpaquePointer?>!
) -> Int32 {
  guard let work = Work(given) else { return Status.invalid }
  return handingOver(work.held) { _ in
    let delayed = try loop(handle).perform(
      after: Duration(inC: delay_ns), tolerance: Duration(inC: tolerance_ns), in: work.modes,
      block: work.block)
    if let ret_delayed { ret_delayed.pointee = owned(delayed) }
    return 0
  }
}

@c @implementation
package func rlk_delayed_cancel(_ delayed: OpaquePointer!) -> Int32 {
  guard let delayed = object(delayed, as: RunLoop.DelayedPerform.self) else { return Status.invalid }
  return delayed.cancel().inC
}

@c @implementation
package func rlk_delayed_is_pending(_ delayed: OpaquePointer!) -> Bool {
  object(delayed, as: RunLoop.DelayedPerform.self)?.isPending ?? false
}

@c @implementation
package func rlk_delayed_release(_ delayed: OpaquePointer!) { release(delayed, RunLoop.DelayedPerform.self) }

// MARK: Scopes

@c @implementation
package func rlk_scope_defer(_ perform: rlk_perform_fn!, _ context: UnsafeMutableRawPointer!) -> Int32 {
  guard let perform else { return Status.invalid }
  RunLoop.Scope.deferred { perform(context) }
  return 0
}

@c @implementation
package func rlk_scope_with(_ perform: rlk_perform_fn!, _ context: UnsafeMutableRawPointer!) -> Int32 {
  guard let perform else { return Status.invalid }
  RunLoop.Scope.with { perform(context) }
  return 0
}
