import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit
import Synchronization

import class RunLoopKit.RunLoop

/// The production kernel, counting: which calls the loops of the process have made. Fails where `Faults` says so.
enum CountingKernel {
  struct Counts: Equatable {
    var waits = 0
    var writes = 0
    var reads = 0
    var controls = 0
    var timers = 0
  }

  private static let waits = Atomic<Int>(0)
  private static let writes = Atomic<Int>(0)
  private static let reads = Atomic<Int>(0)
  private static let controls = Atomic<Int>(0)
  private static let timers = Atomic<Int>(0)

  static var counts: Counts {
    Counts(
      waits: waits.load(ordering: .relaxed), writes: writes.load(ordering: .relaxed),
      reads: reads.load(ordering: .relaxed), controls: controls.load(ordering: .relaxed),
      timers: timers.load(ordering: .relaxed))
  }

  static func count(_ body: () throws -> Void) rethrows -> Counts {
    let before = counts
    try body()
    let after = counts
    return Counts(
      waits: after.waits - before.waits, writes: after.writes - before.writes, reads: after.reads - before.reads,
      controls: after.controls - before.controls, timers: after.timers - before.timers)
  }

  /// Looks at one descriptor, of whose event the kernel has told before.
  static let polls = Atomic<Int>(0)

  /// What a test makes the kernel do, for all loops of the process.
  struct Script {
    /// Called at each reading of the clock by the core, on the thread that reads.
    var atReading: (@Sendable () -> Void)?
    /// What a clock shows, of what it would show.
    var now: (@Sendable (UInt64) -> UInt64)?
    /// When a wait and a timer end, of when they would.
    var deadline: (@Sendable (UInt64) -> UInt64)?
    /// The answer to a wait; nil: it takes place.
    var wait: (@Sendable (UInt64) -> Int32?)?
    /// The answer to the making of a timerfd; nil: it takes place.
    var timerfd: (@Sendable () -> Int32?)?
    /// The answer to a registration, or a change of one; nil: it takes place.
    var control: (@Sendable () -> Int32?)?
    /// The answer to a change of a registration; nil: it takes place.
    var change: (@Sendable () -> Int32?)?
    /// The answer to the creation of an epoll instance; nil: it takes place.
    var create: (@Sendable () -> Int32?)?
  }

  /// Any thread may set it, also while another one's loop sleeps.
  static var script: Script {
    get { guardedScript.withLock { $0 } }
    set { guardedScript.withLock { $0 = newValue } }
  }

  private static let guardedScript = Mutex(Script())

  /// For the loops that the calling thread and the threads that it starts make from now on.
  static func install() { kernel.enter() }

  private static let kernel: Kernel = {
    var table = rlc_kernel_copy()
    table.now = { context, clock in
      script.atReading?()
      let now = rlc_kernel_default().pointee.now(context, clock)
      return script.now?(now) ?? now
    }
    table.epoll_wait = { context, set, events, capacity, deadline in
      waits.add(1, ordering: .relaxed)
      if let answer = script.wait?(deadline) { return answer }
      return rlc_kernel_default().pointee.epoll_wait(
        context, set, events, capacity, script.deadline?(deadline) ?? deadline)
    }
    table.epoll_control = { context, set, operation, descriptor, event in
      controls.add(1, ordering: .relaxed)
      if operation == EPOLL_CTL_MOD, let fault = script.change?() { return fault }
      if operation != EPOLL_CTL_DEL,
        let fault = script.control?() ?? Faults.next(ENOSPC, isForTimer: test_is_timerfd(descriptor) != 0)
      {
        return fault
      }
      return rlc_kernel_default().pointee.epoll_control(context, set, operation, descriptor, event)
    }
    table.poll = { context, descriptor, events in
      polls.add(1, ordering: .relaxed)
      return rlc_kernel_default().pointee.poll(context, descriptor, events)
    }
    table.timerfd_set = { context, descriptor, deadline in
      timers.add(1, ordering: .relaxed)
      return rlc_kernel_default().pointee.timerfd_set(context, descriptor, script.deadline?(deadline) ?? deadline)
    }
    table.read = { context, descriptor, buffer, size in
      reads.add(1, ordering: .relaxed)
      return rlc_kernel_default().pointee.read(context, descriptor, buffer, size)
    }
    table.write = { context, descriptor, buffer, size in
      writes.add(1, ordering: .relaxed)
      return rlc_kernel_default().pointee.write(context, descriptor, buffer, size)
    }
    table.epoll_create = { context in
      script.create?() ?? Faults.next(EMFILE) ?? rlc_kernel_default().pointee.epoll_create(context)
    }
    table.eventfd_create = { context in
      Faults.next(ENFILE) ?? rlc_kernel_default().pointee.eventfd_create(context)
    }
    table.timerfd_create = { context, clock in
      script.timerfd?() ?? Faults.next(EMFILE, isForTimer: true)
        ?? rlc_kernel_default().pointee.timerfd_create(context, clock)
    }
    table.reallocate = { _, memory, size in
      guard size > 0 else {
        free(memory)
        return nil
      }
      return memory == nil && Faults.takesMemory ? nil : realloc(memory, size)
    }
    return Kernel(table)
  }()
}
