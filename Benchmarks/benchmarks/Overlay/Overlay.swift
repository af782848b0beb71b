import CMeasure
import Glibc
import RunLoopKit

/// RunLoopKit's Swift API as a program uses it: closures, one object per item. The texts follow workloads_*.h line by line.
///
/// A wake is a source that is signalled and its loop woken; a post is `perform`; a timer is made, added and
/// invalidated, or given another date; a descriptor is a `FileDescriptorSource`; an observer is told before timers.
enum Overlay {
  typealias Body = @Sendable (bench_args, inout bench_result) throws -> Void

  static let workloads: [String: Body] = [
    "wake_rtt": wakeRoundTrip, "post": post, "post_queued": postQueued, "self_post": selfPost, "self_post2": selfPost2,
    "self_post_other": selfPostBesideOthers,
    "main_queue": mainQueue,
    "port_rtt": portRoundTrip,
    "timer_ic": timerInsertCancel, "timer_rearm": timerRearm, "timer_fire": timerFire,
    "timer_firewin": timerFireWindow, "timer_late": timerLate, "timer_drift": timerDrift,
    "fd_dispatch": descriptorDispatch, "echo": echo, "fd_addrm": descriptorAddRemove,
    "startup": startup, "iter": iterate, "mode_switch": modeSwitch,
    "mode_event": modeEvent, "mode_addrm": modeAddRemove, "source_addrm": sourceAddRemove,
    "port_xrtt": portXRoundTrip, "port_big": portBig,
    "actor_hop": actorHop, "actor_jobs": actorJobs, "actor_call": actorCall,
    "task_sleep": taskSleep, "task_stream": taskStream,
    "mem_loop": memoryOfLoops, "mem_timer": memoryOfTimers, "mem_fd": memoryOfDescriptors,
  ]

  /// Keeps a loop from being finished.
  static func hold(_ loop: RunLoop) throws { try loop.add(RunLoop.Source { _ in }) }

  /// A timer 1,000 s ahead, if that is asked for.
  static func pend(_ loop: RunLoop, _ args: bench_args) throws {
    if args.pending != 0 { try loop.add(RunLoop.Timer(after: .seconds(1000)) { _ in }) }
  }

  static func require(_ isTrue: Bool, _ what: String) {
    guard !isTrue else { return }
    perror("benchmarks: \(what)")
    exit(70)
  }
}

/// A thread with a loop of its own.
struct LoopThread: ~Copyable {
  private var thread = pthread_t()

  init(_ body: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(Box(body))
    let status = pthread_create(&thread, nil, runBox, box.toOpaque())
    Overlay.require(status == 0, "pthread_create")
  }

  consuming func join() { bench_join(thread) }
}

private final class Box: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

private func runBox(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  Unmanaged<Box>.fromOpaque(pointer!).takeRetainedValue().body()
  return nil
}

/// What threads of a workload share without a lock: each field has one writer at a time.
final class Shared<State>: @unchecked Sendable {
  let state: UnsafeMutablePointer<State>

  init(_ initial: State) {
    state = .allocate(capacity: 1)
    state.initialize(to: initial)
  }
}

/// A semaphore, so that the measured thread waits for the other to be ready.
final class Semaphore: @unchecked Sendable {
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
  init() { sem_init(semaphore, 0, 0) }
  func open() { sem_post(semaphore) }
  func pass() { while sem_wait(semaphore) != 0 {} }
}
