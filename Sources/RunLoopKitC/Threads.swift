package import CRunLoopKit
internal import RunLoopKit

// The functions of <runloopkit/thread.h>, where their contracts stand.

@c @implementation
package func rlk_thread_create(
  _ given: UnsafePointer<rlk_thread_options>!, _ ret_thread: UnsafeMutablePointer<OpaquePointer?>!
) -> Int32 {
  guard let given = options(given), let ret_thread else { return Status.invalid }
  guard let name = given.name.map({ String(validatingCString: $0) }) ?? "" else { return Status.invalid }
  let held = Held(given.set_up, given.context, given.release)
  let thread = RunLoop.Thread(name: name, stackSize: given.stack_size == 0 ? nil : given.stack_size) { loop in
    let status = held.call { setUp, context in setUp.map { $0(borrowed(loop), context) } ?? 0 }
    RaceDetector.handOver(RaceDetector.threads)
    if status < 0 { throw RunLoopError.system(0 &- status) }
  }
  ret_thread.pointee = owned(thread)
  return 0
}

@c @implementation
package func rlk_thread_release(_ thread: OpaquePointer!) { release(thread, RunLoop.Thread.self) }

@c @implementation
package func rlk_thread_start(_ thread: OpaquePointer!) -> Int32 {
  guard let thread = object(thread, as: RunLoop.Thread.self) else { return Status.invalid }
  return Status.of {
    defer { RaceDetector.takeOver(RaceDetector.threads) }
    try thread.start()
    return 0
  }
}

@c @implementation
package func rlk_thread_stop(_ thread: OpaquePointer!, _ ending: rlk_ending) -> Int32 {
  guard let thread = object(thread, as: RunLoop.Thread.self) else { return Status.invalid }
  guard !thread.isForked else { return Status.forked }
  switch ending {
  case RLK_ENDING_AFTER_DUE_WORK: thread.stop(.afterDueWork)
  case RLK_ENDING_NOW: thread.stop(.now)
  default: return Status.invalid
  }
  return 0
}

@c @implementation
package func rlk_thread_join(_ thread: OpaquePointer!, _ timeout_ns: UInt64) -> Int32 {
  guard let thread = object(thread, as: RunLoop.Thread.self) else { return Status.invalid }
  return Status.of {
    try thread.join(timeout: limit(timeout_ns))
    return 0
  }
}

@c @implementation
package func rlk_thread_loop(_ thread: OpaquePointer!) -> OpaquePointer! {
  object(thread, as: RunLoop.Thread.self)?.loop.map { borrowed($0) }
}

@c @implementation
package func rlk_thread_is_running(_ thread: OpaquePointer!) -> Bool {
  object(thread, as: RunLoop.Thread.self)?.isRunning ?? false
}

@c @implementation
package func rlk_thread_perform(_ thread: OpaquePointer!, _ given: UnsafePointer<rlk_work>!) -> Int32 {
  guard let thread = object(thread, as: RunLoop.Thread.self), let work = Work(given, inOneMode: true) else {
    return Status.invalid
  }
  return handingOver(work.held) { _ in
    try thread.perform(in: work.modes.first, block: work.block)
    return 0
  }
}
