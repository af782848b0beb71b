internal import CRunLoopCore
internal import RunLoopLibc
internal import Synchronization

/// Wakes a loop: a thin owner of `rlc_wakeup_port`, which is created with the loop's first port set, or by the loop's
/// first `run(until:in:timeout:)`.
///
/// Before the port exists the loop cannot sleep, so a wake does nothing. The port exists as long as this object, so
/// every waker that holds the object may use the port. The end of the loop's thread closes the eventfd. If a waker was
/// preempted before its write, the waker closes the eventfd after that write: no waker writes to a descriptor that has
/// reused the number [RLC-WAKE-9].
struct WakeWord: ~Copyable {
  private let kernel: Kernel?
  private let port = Atomic<UnsafeRawPointer?>(nil)
  /// True once a failed write was reported.
  private let isReported = Atomic<Bool>(false)

  init(_ kernel: Kernel?) { self.kernel = kernel }

  private var pointer: OpaquePointer? {
    OpaquePointer(port.load(ordering: .acquiring))
  }

  /// Makes the port unless it exists, and returns its eventfd. Under the loop's lock.
  func make() throws(RunLoopError) -> Int32 {
    if let pointer { return rlc_wakeup_port_fd(pointer) }
    var made: OpaquePointer?
    try RunLoopError.checkCore(rlc_wakeup_port_create(kernel.table, &made))
    port.store(UnsafeRawPointer(made!), ordering: .releasing)  // a create function that returns 0 has set it
    atomicMemoryFence(ordering: .sequentiallyConsistent)  // pairs with `portJustMade`
    return rlc_wakeup_port_fd(made)
  }

  var fileDescriptor: Int32? { pointer.map { rlc_wakeup_port_fd($0) } }

  /// Posts a wake (rule 15).
  func signal() { if let port = pointer ?? portJustMade { check(rlc_wakeup_port_signal(port)) } }

  /// For a waker that has seen no port. If the fence in `make` comes before the fence here, the waker sees the port.
  /// Otherwise the run that has made the port sees what the waker has published, even if the waker has not taken the
  /// loop's lock.
  @inline(never)
  private var portJustMade: OpaquePointer? {
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    return pointer
  }

  /// Posts an interrupt: the loop makes a pass, and no enclosing run receives the interrupt as a wake.
  func interrupt() { if let pointer { check(rlc_wakeup_port_interrupt(pointer)) } }

  /// Reports a post whose write has failed because other code has closed the eventfd. A status of 0 or 1 is no failure.
  /// 2 says that a new eventfd has woken the loop, `-ESHUTDOWN` that the loop has ended, `-ECHILD` that the loop
  /// belongs to the parent process. After other errors there is no new eventfd, and a sleeping loop sleeps on until
  /// something else ends its wait.
  private func check(_ status: Int32) {
    if UInt32(bitPattern: status) > 1 && status != -ESHUTDOWN && status != -ECHILD { reportOnce(isWoken: status > 0) }
  }

  /// The caller may be a signal handler.
  @inline(never)
  private func reportOnce(isWoken: Bool) {
    guard !isReported.exchange(true, ordering: .relaxed) else { return }
    var error: Int32 = 0
    let lost = rlc_kit_lost_write(pointer, &error)
    StandardError.write(
      "RunLoopKit: other code has closed or replaced a run loop's descriptor: write(", lost,
      ") of the loop's eventfd: errno ", error,
      isWoken ? "; a new one has woken the loop (reported once)\n" : "; the loop may sleep on (reported once)\n")
  }

  /// Reports losses of the loop's own descriptors to `owner`, which must outlive the loop's sets. Under the loop's
  /// lock.
  func reportLosses(to owner: any DescriptorOwner) {
    rlc_kit_set_lost_fn(pointer, descriptorWasLost, Unmanaged<AnyObject>.passUnretained(owner).toOpaque())
  }

  /// Watches the eventfd as a hint; the port must exist. Under the loop's lock.
  func watch(in set: PortSet) throws(RunLoopError) { try set.watchWakeup(pointer!) }

  /// Watches the new eventfd in a set that has watched the lost one. Under the loop's lock.
  func renew(in set: PortSet) throws(RunLoopError) { try set.renewWakeup(pointer!) }

  /// True once for each new eventfd, which the sets do not watch yet. - Thread: The loop's own.
  func takeRenewal() -> Bool { rlc_kit_take_renewal(pointer) }

  /// Called when a set has lost the eventfd. Makes all sets watch a new eventfd before the next sleep.
  /// - Thread: The loop's own.
  func demandRenewal() { if let pointer { rlc_kit_demand_renewal(pointer) } }

  /// Spins for a while before `beginWait`; true if something was posted. - Thread: The loop's own.
  func spin(_ spin: inout Spin, until deadline: UInt64) -> Bool {
    pointer.map { spin.untilPosted($0, deadline: deadline) } ?? false
  }

  /// RUNNING -> ASLEEP; false if something was posted. - Thread: The loop's own.
  func beginWait() -> Bool { rlc_wakeup_port_begin_wait(pointer) }

  /// RUNNING -> ASLEEP, for a sleep in a set. False if something was posted, or if `takeRenewal` would return true.
  /// - Thread: The loop's own.
  func beginWait(in set: PortSet) -> Bool { set.beginWait(pointer) }

  /// True while nothing is posted. - Thread: The loop's own.
  @inline(__always)
  var isQuiet: Bool { pointer.map { rlc_kit_is_quiet($0) } ?? true }

  /// Takes the post, if there is one. The loop does that at the end of a wait, or to drop the post. Its thread then
  /// sees everything that the wakers published before. - Thread: The loop's own.
  func take() -> Posted {
    guard let pointer, !rlc_kit_is_quiet(pointer) else { return .none }
    return Posted(number: rlc_wakeup_port_take(pointer).rawValue)
  }

  /// A post, by the core's numbers. Of two posts, the one with the larger number counts.
  struct Posted: Equatable, Comparable {
    let number: UInt32

    static var none: Posted { Posted(number: RLC_WAKE_NONE.rawValue) }
    static var interrupt: Posted { Posted(number: RLC_WAKE_INTERRUPTED.rawValue) }
    static var wake: Posted { Posted(number: RLC_WAKE_POSTED.rawValue) }

    static func < (a: Posted, b: Posted) -> Bool { a.number < b.number }
  }

  var isAsleep: Bool {
    guard let pointer else { return false }
    return rlc_wakeup_port_is_asleep(pointer)
  }

  /// Closes the eventfd, or leaves that to the last waker that is about to write to it. References to the loop do not
  /// keep the eventfd open, not even one on the stack of a thread that has ended in a callout. - Thread: The loop's
  /// own.
  func end() { if let pointer { rlc_wakeup_port_end(pointer) } }

  deinit {
    if let pointer { rlc_wakeup_port_release(pointer) }
  }
}
