internal import CRunLoopCore

/// The deadlines of one mode: a thin owner of `rlc_timer_heap`, whose contexts are references to the members.
struct TimerHeap {
  private let heap: OpaquePointer

  init() throws(RunLoopError) {
    var heap: OpaquePointer?
    try TimerHeap.check(rlc_timer_heap_create(&heap))
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

/// A timerfd of a mode: a thin owner of `rlc_timer_port`.
struct TimerPort {
  private let port: OpaquePointer

  /// The kernel must outlive it.
  init(_ clock: RunLoop.TimerClock, _ kernel: Kernel?) throws(RunLoopError) {
    var port: OpaquePointer?
    try RunLoopError.checkCore(rlc_timer_port_create(kernel.table, clock.number, &port))
    // A create function of the core that answers 0 has set it.
    self.port = port!
  }

  func destroy() { rlc_timer_port_destroy(port) }

  var fileDescriptor: Int32 { rlc_timer_port_fd(port) }
  var armed: UInt64 { rlc_timer_port_armed(port) }

  /// No system call unless `deadline` is earlier than what is armed. False if other code has closed the timerfd.
  @discardableResult
  func want(_ deadline: UInt64) -> Bool { rlc_timer_port_want(port, deadline) >= 0 }
  /// An expiry has been taken from a set.
  func noteExpiry() { rlc_timer_port_note_expiry(port) }
  /// What is not disarmed is an expiry that is not true.
  func disarm() { _ = rlc_timer_port_disarm(port) }
}

/// The timers of a mode on one clock: their deadlines, and a timerfd on that clock, which is in the mode's port set, so
/// that an expiry has its place among the ready ports, whatever runs at that moment.
struct ClockTimers {
  let heap: TimerHeap
  let port: TimerPort
  /// A pass has taken the expiry for this date and is about to fire what is due: no nested run is woken for that date
  /// again.
  private var taken: UInt64 = 0
  // Numbers, so that nil shows in the heap's pointer, which is read anyway.
  private let clockNumber: UInt8
  /// 1: the timerfd is in the mode's port set.
  private var hintIsInSet: UInt8 = 0

  init(_ clock: RunLoop.TimerClock, _ kernel: Kernel?) throws(RunLoopError) {
    clockNumber = clock.place
    let port = try TimerPort(clock, kernel)
    do throws(RunLoopError) {
      heap = try TimerHeap()
    } catch {
      port.destroy()
      throw error
    }
    self.port = port
  }

  func destroy() {
    heap.destroy()
    port.destroy()
  }

  var hint: PortSet.Hint {
    switch clock {
    case .suspending: .timer
    case .continuous: .continuousTimer
    case .wall: .wallTimer
    }
  }

  /// Only for a queue whose clock is set.
  @inline(__always)
  var clock: RunLoop.TimerClock { RunLoop.TimerClock(place: clockNumber) }

  @inline(__always)
  func isOn(_ clock: RunLoop.TimerClock) -> Bool { clockNumber == clock.place }

  @inline(__always)
  private var hasHint: Bool { hintIsInSet != 0 }

  @inline(__always)
  var needsHint: Bool { !hasHint && heap.count > 0 }

  /// There are timers of that clock, and the port set watches their timerfd already.
  @inline(__always)
  func serves(_ clock: RunLoop.TimerClock, _ set: PortSet?) -> Bool {
    isOn(clock) && (hasHint || set == nil)
  }

  mutating func enter(_ set: PortSet?) throws(RunLoopError) {
    guard !hasHint, let set else { return }
    try set.insertHint(hint, fileDescriptor: port.fileDescriptor)
    hintIsInSet = 1
  }

  /// A date of this clock on the suspending one, as the two stand now.
  func onSuspendingClock(_ date: UInt64, _ now: UInt64, _ kernel: Kernel?) -> UInt64 {
    clock == .suspending ? date : Time.convert(date, from: kernel.now(clock), to: now)
  }

  /// The date for which the timerfd is armed; 0: it waits for none, as a pass has taken its expiry. Nil if it cannot be
  /// armed.
  @inline(__always)
  func arm() -> UInt64? {
    let wakeAt = heap.wakeAt
    // The expiry that a pass has taken is not asked for again.
    if wakeAt == taken { return 0 }
    // The first timer is gone or was moved out: no expiry at its old date (A1), whose place the next timer would take.
    if wakeAt == Time.forever {
      port.disarm()
      return wakeAt
    }
    let armed = port.armed
    if wakeAt == armed { return wakeAt }
    if wakeAt > armed { port.noteExpiry() }
    return port.want(wakeAt) ? wakeAt : nil
  }

  @inline(__always)
  func isDue(soft: Bool) -> Bool {
    let date = soft ? heap.first : heap.wakeAt
    guard date != Time.forever, soft || date != taken else { return false }
    return date <= (isOn(.suspending) ? Kernel.now() : Kernel.now(clock))
  }

  @inline(__always)
  mutating func takeExpiry(soft: Bool) -> Bool {
    guard isDue(soft: soft) else { return false }
    taken = heap.wakeAt
    return true
  }

  @inline(__always)
  mutating func forgetExpiry() { taken = 0 }
}
