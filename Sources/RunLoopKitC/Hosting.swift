package import CRunLoopKit
internal import RunLoopKit

// The functions of <runloopkit/host.h>, where their contracts stand.

@c @implementation
package func rlk_loop_host_descriptor(
  _ handle: OpaquePointer!, _ name: UnsafePointer<CChar>!, _ ret_generation: UnsafeMutablePointer<UInt64>!
) -> Int32 {
  guard let mode = mode(name) else { return Status.invalid }
  return Status.of {
    let host = try loop(handle).hostDescriptor(in: mode)
    if let ret_generation { ret_generation.pointee = host.generation }
    return host.fileDescriptor
  }
}

@c @implementation
package func rlk_loop_prepare_to_wait(_ handle: OpaquePointer!, _ name: UnsafePointer<CChar>!) -> Int32 {
  guard let mode = mode(name) else { return Status.invalid }
  return Status.of { try loop(handle).prepareToWait(in: mode).inC }
}

@c @implementation
package func rlk_loop_run_pending_work(_ handle: OpaquePointer!, _ name: UnsafePointer<CChar>!) -> Int32 {
  guard let mode = mode(name) else { return Status.invalid }
  return Status.of { try loop(handle).runPendingWork(in: mode).rawValue }
}

@c @implementation
package func rlk_loop_cancel_wait(_ handle: OpaquePointer!, _ name: UnsafePointer<CChar>!) -> Int32 {
  guard let mode = mode(name) else { return Status.invalid }
  return Status.of {
    try loop(handle).cancelWait(in: mode)
    return 0
  }
}

@c @implementation
package func rlk_loop_set_host_sleep(
  _ handle: OpaquePointer!, _ sleep: rlk_host_sleep_fn!, _ context: UnsafeMutableRawPointer!
) -> Int32 {
  Status.of {
    guard let sleep else {
      try loop(handle).setHostSleep(nil)
      return 0
    }
    try loop(handle).setHostSleep { descriptor, until in sleep(descriptor, until.nanoseconds, context) }
    return 0
  }
}

// MARK: Figures

@c @implementation
package func rlk_loop_collect_statistics(_ handle: OpaquePointer!, _ collects: Bool) -> Int32 {
  loop(handle).collectsStatistics = collects
  return 0
}

@c @implementation
package func rlk_loop_read_statistics(
  _ handle: OpaquePointer!, _ ret_statistics: UnsafeMutablePointer<rlk_loop_statistics>!
) -> Int32 {
  guard let ret_statistics, let size = knownSize(UnsafePointer(ret_statistics)) else { return Status.invalid }
  let counted = loop(handle).statistics
  let figures = rlk_loop_statistics(
    size: size, runs: UInt64(counted.runs), passes: UInt64(counted.passes),
    sleeps: UInt64(counted.sleeps), spurious_wakes: UInt64(counted.spuriousWakes),
    timers_fired: UInt64(counted.timersFired), sources_performed: UInt64(counted.sourcesPerformed),
    port_callouts: UInt64(counted.portCallouts), blocks_performed: UInt64(counted.blocksPerformed),
    busy_time_ns: counted.busyTime.nanosecondsRoundedUp, sleep_time_ns: counted.sleepTime.nanosecondsRoundedUp)
  // Copies only the members for which the host has room.
  withUnsafeBytes(of: figures) {
    UnsafeMutableRawBufferPointer(start: ret_statistics, count: size).copyMemory(from: .init(rebasing: $0.prefix(size)))
  }
  return 0
}
