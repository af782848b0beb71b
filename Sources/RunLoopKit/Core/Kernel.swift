package import CRunLoopCore
internal import Glibc
internal import Synchronization

/// The kernel and the clock as the whole module sees them: libc's, or a scripted table that a test has installed.
enum Kernel {
  /// An address: a pointer is not Sendable.
  private static let installed = Atomic<UInt>(0)

  static func install(_ table: UnsafePointer<rlc_kernel>) {
    installed.store(UInt(bitPattern: table), ordering: .sequentiallyConsistent)
  }

  static var table: UnsafePointer<rlc_kernel> {
    UnsafePointer(bitPattern: installed.load(ordering: .acquiring)) ?? rlc_kernel_default()
  }

  private static let servesLoops = Atomic<Bool>(false)

  /// A loop is made: it keeps the kernel of this moment.
  static func noteLoop() { servesLoops.store(true, ordering: .relaxed) }

  static var hasServedALoop: Bool { servesLoops.load(ordering: .relaxed) }

  /// Now on the monotonic clock, in nanoseconds.
  static func now() -> UInt64 {
    let address = installed.load(ordering: .acquiring)
    guard let table = UnsafePointer<rlc_kernel>(bitPattern: address) else { return rlc_now(RLC_CLOCK_MONOTONIC) }
    return table.pointee.now(table.pointee.context, RLC_CLOCK_MONOTONIC)
  }

  /// Now on a timer's clock, in nanoseconds.
  @inline(__always)
  static func now(_ clock: RunLoop.TimerClock) -> UInt64 { clock == .suspending ? now() : read(clock) }

  private static func read(_ clock: RunLoop.TimerClock) -> UInt64 {
    let table = table
    return table.pointee.now(table.pointee.context, clock.number)
  }

  /// By one system call, without waiting.
  static func isReadable(_ fileDescriptor: Int32) -> Bool {
    let table = table
    return table.pointee.poll(table.pointee.context, fileDescriptor, Int32(POLLIN)) > 0
  }

  /// Differs between a process and its children; no system call.
  static var forkGeneration: UInt32 { rlc_fork_generation() }
}

extension RunLoop {
  /// Replaces the kernel and the clock of the process. Before any loop is made; the table must live for ever.
  package static func installKernel(_ table: UnsafePointer<rlc_kernel>) {
    Kernel.install(table)
  }

  /// True once this process has made a loop.
  package static var hasMadeALoop: Bool { Kernel.hasServedALoop }
}

extension RunLoop.TimerClock {
  /// As the core numbers it.
  var number: rlc_clock {
    switch self {
    case .suspending: RLC_CLOCK_MONOTONIC
    case .continuous: RLC_CLOCK_BOOTTIME
    case .wall: RLC_CLOCK_REALTIME
    }
  }
}
