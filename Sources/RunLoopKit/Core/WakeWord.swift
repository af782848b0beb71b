internal import CRunLoopCore
internal import Glibc
internal import Synchronization

/// The way to wake a loop: a thin owner of `rlc_wakeup_port`, made when the loop gets its first port set.
///
/// Before that nobody can sleep, so a wake has nothing to do. The port lives as long as this object, hence as long as
/// anybody can wake; its eventfd until the end of the loop's thread, or of a waker that is preempted before its write:
/// none writes into a stranger's descriptor [RLC-WAKE-9].
struct WakeWord: ~Copyable {
  private let kernel: Kernel?
  private let port = Atomic<UnsafeRawPointer?>(nil)
  /// That a write has failed.
  private let isTold = Atomic<Bool>(false)

  init(_ kernel: Kernel?) { self.kernel = kernel }

  @inline(__always)
  private var pointer: OpaquePointer? {
    OpaquePointer(port.load(ordering: .acquiring))
  }

  /// Under the loop's lock.
  func make() throws(RunLoopError) -> Int32 {
    if let pointer { return rlc_wakeup_port_fd(pointer) }
    var made: OpaquePointer?
    try RunLoopError.check(rlc_wakeup_port_create(kernel.table, &made), "eventfd")
    // A create function of the core that answers 0 has set it.
    port.store(UnsafeRawPointer(made!), ordering: .releasing)
    return rlc_wakeup_port_fd(made)
  }

  var fileDescriptor: Int32? { pointer.map { rlc_wakeup_port_fd($0) } }

  /// A wake in the sense of rule 15.
  func signal() { if let pointer { check(rlc_wakeup_port_signal(pointer)) } }

  /// Makes the loop look as well, but is nobody's message: never owed to an enclosing run.
  func kick() { if let pointer { check(rlc_wakeup_port_kick(pointer)) } }

  /// A loop that has ended, or is the parent's, wants no wake. Else the write has failed, and would again: somebody has
  /// closed the eventfd. The word is changed all the same, and the loop sees it when it looks next, but it sleeps on
  /// until then.
  @inline(__always)
  private func check(_ status: Int32) {
    if status < 0 && status != -ESHUTDOWN && status != -ECHILD { tellOnce(status) }
  }

  @inline(never)
  private func tellOnce(_ status: Int32) {
    guard !isTold.exchange(true, ordering: .relaxed) else { return }
    let call = "write(\(fileDescriptor ?? -1)) of the loop's eventfd: errno \(-status)"
    StandardError.write("RunLoopKit: a sleeping loop could not be woken: \(call); it was closed. Told once a loop.\n")
  }

  /// Before `beginWait`: looks for a while; true if something was posted. [loop]
  func spin(_ spin: inout Spin, until deadline: UInt64) -> Bool {
    pointer.map { spin.untilPosted($0, deadline: deadline) } ?? false
  }

  /// RUNNING -> ASLEEP; false if something was posted. [loop]
  func beginWait() -> Bool { rlc_wakeup_port_begin_wait(pointer) }

  /// Ends a wait, or drops what came while no wake was accepted; what its sender published before is visible after.
  /// [loop]
  @inline(__always)
  func take() -> Posted {
    guard let pointer else { return .none }
    return Posted(number: rlc_wakeup_port_take(pointer).rawValue)
  }

  /// What was posted, as the core numbers it: more counts more.
  struct Posted: Equatable, Comparable {
    let number: UInt32

    static var none: Posted { Posted(number: RLC_WAKE_NONE.rawValue) }
    static var kick: Posted { Posted(number: RLC_WAKE_KICKED.rawValue) }
    static var wake: Posted { Posted(number: RLC_WAKE_POSTED.rawValue) }

    static func < (a: Posted, b: Posted) -> Bool { a.number < b.number }
  }

  var isAsleep: Bool {
    guard let pointer else { return false }
    return rlc_wakeup_port_is_asleep(pointer)
  }

  /// The descriptor goes here, or with the last waker that is about to write to it: whoever holds the loop keeps none
  /// open, also the stack of a thread that has ended in a callout. [loop]
  func end() { if let pointer { rlc_wakeup_port_end(pointer) } }

  deinit {
    if let pointer { rlc_wakeup_port_release(pointer) }
  }
}
