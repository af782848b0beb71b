package import CRunLoopCore
internal import RunLoopLibc
internal import Synchronization

/// The system calls and the clocks of a thread. A test replaces them. With `turns` the test also decides which of its
/// threads runs. A `Kernel?` that is nil stands for the system's kernel.
///
/// A loop keeps the kernel that its thread has when the loop is created [RLK-KERNEL-1]. It reads the clocks of that
/// kernel, whichever thread calls [RLK-KERNEL-4]. A thread that RunLoopKit starts has the kernel of the thread that
/// starts it [RLK-KERNEL-2]. A process may have any number of kernels.
package final class Kernel: @unchecked Sendable {
  fileprivate let own: UnsafeMutablePointer<rlc_kernel>
  /// Decides which of the kernel's threads runs. If it is nil, the system decides.
  package let turns: (any TurnTaking)?

  /// - Parameters:
  ///   - table: The system calls and clocks. Copied; what its context points to must live as long as this object.
  ///   - turns: See `turns`.
  package init(_ table: rlc_kernel, turns: (any TurnTaking)? = nil) {
    own = .allocate(capacity: 1)
    own.initialize(to: table)
    self.turns = turns
  }

  deinit {
    own.deinitialize(count: 1)
    own.deallocate()
  }

  package static var current: Kernel? {
    @inline(__always) get {
      guard let word = rlc_thread_kernel() else { return nil }
      // `enter` has set the kernel, which stays retained until `leave` or the thread's end.
      return Unmanaged<Kernel>.fromOpaque(word).takeUnretainedValue()
    }
  }

  /// The time on the calling thread's monotonic clock, in nanoseconds.
  static func now() -> UInt64 { current.now() }

  /// The time on a clock of the calling thread, in nanoseconds.
  static func now(_ clock: RunLoop.TimerClock) -> UInt64 { current.now(clock) }

  /// A number that differs between a process and its children. Makes no system call.
  package static var forkGeneration: UInt32 { rlc_fork_generation() }
}

extension Kernel? {
  /// The table of system calls. The pointer is valid while the kernel exists.
  var table: UnsafePointer<rlc_kernel> { self.map { UnsafePointer($0.own) } ?? rlc_kernel_default() }

  @inline(__always)
  func now() -> UInt64 {
    guard let self else { return rlc_kit_now() }
    return self.read(.suspending)
  }

  @inline(__always)
  func now(_ clock: RunLoop.TimerClock) -> UInt64 {
    guard let self else { return clock == .suspending ? rlc_kit_now() : rlc_now(clock.number) }
    return self.read(clock)
  }

  /// Whether the descriptor can be read now. Makes one system call, which does not wait.
  func isReadable(_ fileDescriptor: Int32) -> Bool {
    poll(fileDescriptor, Int32(POLLIN)) > 0
  }

  /// Returns those of `events` that are true now, and errors and hang-ups, as bits of poll(2); or `-errno`.
  func poll(_ fileDescriptor: Int32, _ events: Int32) -> Int32 {
    let table = table
    return table.pointee.poll(table.pointee.context, fileDescriptor, events)
  }
}

extension Kernel {
  @inline(never)
  fileprivate func read(_ clock: RunLoop.TimerClock) -> UInt64 { own.pointee.now(own.pointee.context, clock.number) }
}

// MARK: A thread's kernel

extension Kernel {
  /// The thread-specific value of a thread that has entered a kernel.
  private final class Hold {
    let kernel: Kernel
    /// How often the destructor has been called at the thread's end.
    var rounds = 0

    init(_ kernel: Kernel) { self.kernel = kernel }
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let status = pthread_key_create(&key, threadKernelEnds)
    guard status == 0 else {
      fatalError("RunLoopKit: no thread-specific key is left (pthread_key_create: \(status))")
    }
    return key
  }()

  /// The round of destructors in which a thread leaves its kernel. In each earlier round the destructor sets its value
  /// again, and is therefore called in the next one. glibc makes one round more than this. The thread's loop ends in an
  /// earlier round, while the thread still has its kernel.
  private static let lastRound = Int(PTHREAD_DESTRUCTOR_ITERATIONS) - 1

  /// The main thread's kernel, which other threads read.
  private final class OfMainThread: ProcessWideObject {
    private let lock = Lock()
    var forkGeneration: UInt32 { lock.forkGeneration }
    /// Guarded by `lock`.
    nonisolated(unsafe) private var kernel: Kernel?

    var current: Kernel? { lock.withLock { kernel } }

    func set(_ kernel: Kernel?) {
      var kernel = kernel
      lock.withLock { swap(&self.kernel, &kernel) }
      withExtendedLifetime(kernel) {}  // releases the previous kernel without the lock
    }
  }

  private static let ofMainThread = ProcessWide<OfMainThread>()

  /// Makes this the kernel of the calling thread, until `leave` or the thread's end [RLK-KERNEL-3]. A loop that the
  /// thread creates afterwards uses this kernel. So do the threads that it starts by RunLoopKit, and its waits for
  /// other threads. A loop that the thread has already keeps its kernel.
  package func enter() {
    Kernel.leave()
    pthread_setspecific(Kernel.key, Unmanaged.passRetained(Hold(self)).toOpaque())
    rlc_thread_set_kernel(Unmanaged.passUnretained(self).toOpaque())
    if MainThread.isCurrent { Kernel.ofMainThread.current(OfMainThread.init).set(self) }
  }

  /// Gives the calling thread the system's kernel.
  package static func leave() {
    guard rlc_thread_kernel() != nil else { return }
    rlc_thread_set_kernel(nil)
    if MainThread.isCurrent { ofMainThread.existing?.set(nil) }
    guard let hold = pthread_getspecific(key) else { return }
    pthread_setspecific(key, nil)
    Unmanaged<Hold>.fromOpaque(hold).release()  // `enter` has retained it
  }

  /// The main thread's kernel; any thread may ask for it. In a child of fork(2), never the parent's.
  static var mainThreadsOwn: Kernel? {
    if MainThread.isCurrent { return current }
    return ofMainThread.existing?.current
  }

  /// Runs `body` with the system's kernel.
  package static func outside<R>(_ body: () throws -> R) rethrows -> R {
    let word = rlc_thread_kernel()
    rlc_thread_set_kernel(nil)
    defer { rlc_thread_set_kernel(word) }
    return try body()
  }

  fileprivate static func threadEnds(_ hold: UnsafeMutableRawPointer) {
    // `enter` has retained the hold, and `leave` has not released it yet.
    let rounds = Unmanaged<Hold>.fromOpaque(hold)._withUnsafeGuaranteedRef { hold in
      hold.rounds += 1
      return hold.rounds
    }
    pthread_setspecific(key, hold)
    if rounds >= lastRound { leave() }
  }
}

/// The destructor of `key`. The C library calls it at the thread's end.
private func threadKernelEnds(_ hold: UnsafeMutableRawPointer?) {
  if let hold { Kernel.threadEnds(hold) }
}
