package import CRunLoopCore
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

  /// Now on the monotonic clock, in nanoseconds.
  static func now() -> UInt64 {
    let address = installed.load(ordering: .acquiring)
    guard let table = UnsafePointer<rlc_kernel>(bitPattern: address) else { return rlc_now(RLC_CLOCK_MONOTONIC) }
    return table.pointee.now(table.pointee.context, RLC_CLOCK_MONOTONIC)
  }

  /// Differs between a process and its children; no system call.
  static var forkGeneration: UInt32 { rlc_fork_generation() }
}

extension RunLoop {
  /// Replaces the kernel and the clock of the process. Before any loop is made; the table must live for ever.
  package static func installKernel(_ table: UnsafePointer<rlc_kernel>) {
    Kernel.install(table)
  }
}
