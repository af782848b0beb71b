import CRunLoopCore
import RunLoopKit
internal import RunLoopLibc

/// The kernel table of a virtual time: it replaces the clock, the timer descriptors and the waits. The table's context
/// is its `Turns`; the entries that are not replaced call the C library, and use no context.
enum VirtualKernel {
  /// At first the virtual wall clock is this much ahead of the monotonic clock: it shows 2001-01-01 plus the start
  /// value.
  static let realtimeOffset: Int64 = 978_307_200_000_000_000

  static func make(_ turns: Turns) -> Kernel {
    var table = rlc_kernel_copy()
    table.context = Unmanaged.passUnretained(turns).toOpaque()
    table.now = virtualNow
    table.epoll_wait = virtualEpollWait
    table.timerfd_create = virtualTimerCreate
    table.timerfd_set = virtualTimerSet
    table.close = virtualClose
    return Kernel(table, turns: turns)
  }
}

extension Turns {
  /// The turns that `VirtualKernel.make` has made the context. The `Kernel` retains them.
  fileprivate static func of(_ context: UnsafeMutableRawPointer?) -> Turns {
    Unmanaged<Turns>.fromOpaque(context!).takeUnretainedValue()
  }
}

private func virtualNow(_ context: UnsafeMutableRawPointer?, _ clock: rlc_clock) -> UInt64 {
  let turns = Turns.of(context)
  let now = turns.readClock()
  return clock == RLC_CLOCK_MONOTONIC ? now : now.moved(by: turns.lock.withLock { turns.timers.offset(of: clock) })
}

private func virtualEpollWait(
  _ context: UnsafeMutableRawPointer?, _ epoll: Int32, _ events: UnsafeMutablePointer<epoll_event>?, _ capacity: Int32,
  _ deadline: UInt64
) -> Int32 {
  let turns = Turns.of(context)
  func poll() -> Int32 { rlc_kernel_default().pointee.epoll_wait(nil, epoll, events, capacity, 0) }
  turns.fireDueTimers()
  let found = poll()
  if found != 0 || deadline == 0 {
    turns.countPoll()
    return found
  }
  let participant = turns.enterCurrentThread()
  while turns.now < deadline {
    turns.block(participant, Participant.Wait(descriptor: epoll, deadline: deadline, purpose: "an event of its loop"))
    let found = poll()
    if found != 0 { return found }
  }
  return 0
}

private func virtualTimerCreate(_ context: UnsafeMutableRawPointer?, _ clock: rlc_clock) -> Int32 {
  let turns = Turns.of(context)
  let fd = rlc_kernel_default().pointee.eventfd_create(nil)
  if fd >= 0 { turns.lock.withLock { turns.timers.register(fd, clock: clock) } }
  return fd
}

private func virtualTimerSet(_ context: UnsafeMutableRawPointer?, _ fd: Int32, _ deadline: UInt64) -> Int32 {
  let turns = Turns.of(context)
  turns.lock.withLock {
    turns.timers.set(fd, to: deadline, now: turns.now)
    turns.interrupt()
  }
  return 0
}

private func virtualClose(_ context: UnsafeMutableRawPointer?, _ fd: Int32) -> Int32 {
  let turns = Turns.of(context)
  turns.lock.withLock { turns.timers.forget(fd) }
  return rlc_kernel_default().pointee.close(nil, fd)
}
