internal import CRunLoopCore

/// The deadlines of a mode's timers on one clock: a thin owner of `rlc_timer_heap`, whose contexts are references to
/// the timers.
struct TimerHeap {
  private let heap: OpaquePointer

  /// The kernel must outlive the heap.
  init(_ kernel: Kernel?) throws(RunLoopError) {
    var heap: OpaquePointer?
    try TimerHeap.check(rlc_kit_timer_heap_create(kernel.table, &heap))
    self.heap = heap!  // a create function that returns 0 has set it
  }

  private static func check(_ status: Int32) throws(RunLoopError) {
    if status < 0 { throw error(of: status) }
  }

  @inline(never)
  private static func error(of status: Int32) -> RunLoopError {
    .system(-status, call: "malloc", "no memory for another timer")
  }

  func destroy() { rlc_timer_heap_destroy(heap) }

  var count: Int { rlc_timer_heap_count(heap) }

  func insert(_ timer: RunLoop.Timer) throws(RunLoopError) -> UInt64 {
    var token = rlc_token()
    // `remove` releases the timer. A mode calls `remove` for each member (`unregister`).
    let context = Unmanaged.passRetained(timer)
    let status = rlc_timer_heap_insert(heap, context.toOpaque(), &token)
    if status < 0 { context.release() }
    try TimerHeap.check(status)
    return token.bits
  }

  // The calls below cannot fail: `insert` has reserved the room, and the token is the member's.

  func arm(token: UInt64, deadline: UInt64, tolerance: UInt64) {
    _ = rlc_timer_heap_arm(heap, rlc_token(bits: token), deadline, tolerance)
  }

  func isArmed(token: UInt64) -> Bool { rlc_timer_heap_is_armed(heap, rlc_token(bits: token)) }

  /// Changes neither the date nor the place among equal dates. Does nothing if the timer is not armed.
  func setTolerance(_ tolerance: UInt64, token: UInt64) {
    _ = rlc_timer_heap_set_tolerance(heap, rlc_token(bits: token), tolerance)
  }

  func disarm(token: UInt64) {
    _ = rlc_timer_heap_arm(heap, rlc_token(bits: token), Time.forever, 0)
  }

  func remove(_ timer: RunLoop.Timer, token: UInt64) {
    _ = rlc_timer_heap_remove(heap, rlc_token(bits: token))
    Unmanaged.passUnretained(timer).release()
  }

  var members: [RunLoop.Timer] {
    var members: [RunLoop.Timer] = []
    var position: UInt32 = 0
    while let context = rlc_timer_heap_next(heap, &position) {
      // `insert` has retained it, for as long as it is in the heap.
      members.append(Unmanaged<RunLoop.Timer>.fromOpaque(context).takeUnretainedValue())
    }
    return members
  }

  /// The earliest deadline.
  var first: UInt64 { rlc_timer_heap_first(heap) }
  /// The latest moment to wake at, so that no timer is later than its tolerance.
  var wakeAt: UInt64 { rlc_timer_heap_wake_at(heap) }

  /// Disarms all timers whose deadline has come, and passes the context and the token of each to `take`, in order.
  func takeAllDue(now: UInt64, for receiver: UnsafeMutableRawPointer, _ take: @escaping DueTimerFunction) {
    withUnsafePointer(to: DueTimerCall(receiver: receiver, take: take)) { call in
      // The result is their number, which the receiver has counted.
      _ = rlc_timer_heap_take_all(heap, now, handOverDueTimer, UnsafeMutableRawPointer(mutating: call))
    }
  }
}

/// Gets the receiver, a timer's context and its token. A C function, because calling a closure would retain the
/// closure.
typealias DueTimerFunction = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer, UInt64) -> Void

private struct DueTimerCall {
  let receiver: UnsafeMutableRawPointer
  let take: DueTimerFunction
}

private func handOverDueTimer(_ call: UnsafeMutableRawPointer?, _ timer: UnsafeMutableRawPointer?, _ token: rlc_token) {
  // `takeAllDue` passes the call, which lies on its stack. Timers are contexts of `insert`, never nil.
  let call = call!.assumingMemoryBound(to: DueTimerCall.self)
  call.pointee.take(call.pointee.receiver, timer!, token.bits)
}
