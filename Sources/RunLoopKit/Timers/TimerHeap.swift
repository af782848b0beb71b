internal import CRunLoopCore

/// The deadlines of one mode: a thin owner of `rlc_timer_heap`, whose contexts are references to the members.
struct TimerHeap {
  private let heap: OpaquePointer

  /// The kernel must outlive it.
  init(_ kernel: Kernel?) throws(RunLoopError) {
    var heap: OpaquePointer?
    try TimerHeap.check(rlc_kit_timer_heap_create(kernel.table, &heap))
    // A create function of the core that answers 0 has set it.
    self.heap = heap!
  }

  @inline(__always)
  private static func check(_ status: Int32) throws(RunLoopError) {
    if status < 0 { throw error(of: status) }
  }

  @inline(never)
  private static func error(of status: Int32) -> RunLoopError {
    .system(-status, call: "malloc", "no memory for another timer")
  }

  func destroy() { rlc_timer_heap_destroy(heap) }

  var count: Int { rlc_timer_heap_count(heap) }

  func insert(_ member: AnyObject) throws(RunLoopError) -> UInt64 {
    var token = rlc_token()
    // Given back by `remove` with the same member, which a mode calls for each (`unregister`).
    let context = Unmanaged.passRetained(member)
    let status = rlc_timer_heap_insert(heap, context.toOpaque(), &token)
    if status < 0 { context.release() }
    try TimerHeap.check(status)
    return token.bits
  }

  // Of these statuses nothing is to be done: room was reserved when the member entered, and its token is its own.

  func arm(token: UInt64, deadline: UInt64, tolerance: UInt64) {
    _ = rlc_timer_heap_arm(heap, rlc_token(bits: token), deadline, tolerance)
  }

  func isArmed(token: UInt64) -> Bool { rlc_timer_heap_is_armed(heap, rlc_token(bits: token)) }

  /// Date and place among equal dates stay; nothing if it is not armed.
  func setTolerance(_ tolerance: UInt64, token: UInt64) {
    _ = rlc_timer_heap_set_tolerance(heap, rlc_token(bits: token), tolerance)
  }

  func disarm(token: UInt64) {
    _ = rlc_timer_heap_arm(heap, rlc_token(bits: token), Time.forever, 0)
  }

  func remove(_ member: AnyObject, token: UInt64) {
    _ = rlc_timer_heap_remove(heap, rlc_token(bits: token))
    Unmanaged.passUnretained(member).release()
  }

  var members: [AnyObject] {
    var members: [AnyObject] = []
    var position: UInt32 = 0
    while let context = rlc_timer_heap_next(heap, &position) {
      // Retained by `insert` as long as it is in the heap.
      members.append(Unmanaged<AnyObject>.fromOpaque(context).takeUnretainedValue())
    }
    return members
  }

  /// Earliest deadline.
  var first: UInt64 { rlc_timer_heap_first(heap) }
  /// The latest moment at which no timer is later than its tolerance.
  var wakeAt: UInt64 { rlc_timer_heap_wake_at(heap) }

  /// Disarms all timers whose deadline has come, in order: their contexts and tokens.
  func takeAllDue(now: UInt64, for receiver: UnsafeMutableRawPointer, _ take: @escaping DueTimerFunction) {
    withUnsafePointer(to: DueTimerCall(receiver: receiver, take: take)) { call in
      // How many: the receiver has counted them.
      _ = rlc_timer_heap_take_all(heap, now, handOverDueTimer, UnsafeMutableRawPointer(mutating: call))
    }
  }
}

/// Of a receiver, a timer's context and its token. No closure: nothing is retained for a call.
typealias DueTimerFunction = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer, UInt64) -> Void

private struct DueTimerCall {
  let receiver: UnsafeMutableRawPointer
  let take: DueTimerFunction
}

private func handOverDueTimer(_ call: UnsafeMutableRawPointer?, _ timer: UnsafeMutableRawPointer?, _ token: rlc_token) {
  // What `takeAllDue` passes, on its stack; timers are contexts of `insert`, never nil.
  let call = call!.assumingMemoryBound(to: DueTimerCall.self)
  call.pointee.take(call.pointee.receiver, timer!, token.bits)
}
