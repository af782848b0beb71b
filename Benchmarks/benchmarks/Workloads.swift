import CMeasure

extension Workload {
  /// Those of a run, in the order of the table.
  static let standard: [Workload] = threads + processes + timers + descriptors + loops + tasks + memory + onMain

  private static let threads = [
    Workload(
      "wake_rtt", "same", "two loops on two threads, one CPU: a wake there and back", .latency, count: 20000,
      placement: BENCH_SAME_CPU, quick: .fewerOperations(5)),
    Workload(
      "wake_rtt", "split", "the same on two CPUs", .latency, count: 4000, placement: BENCH_SPLIT_CPUS),
    Workload(
      "wake_rtt", "split spin", "the same; loops that can look for a wake for 20 us before they sleep", .latency,
      count: 4000, placement: BENCH_SPLIT_CPUS, spinUs: 20),
    Workload(
      "wake_rtt", "same timer", "two loops on one CPU, each with a timer 1,000 s ahead", .latency, count: 20000,
      placement: BENCH_SAME_CPU, pending: 1, quick: .fewerOperations(5)),
    Workload("wake_rtt", "free", "the same, not pinned", .latency, count: 4000, isLong: true),
    Workload(
      "post", "1", "one thread posts to a running loop on another CPU", count: 200_000, size: 1,
      placement: BENCH_SPLIT_CPUS),
    Workload("post", "2", "two threads post to a running loop", count: 200_000, size: 2),
    Workload("self_post", "", "a callback queues the next one on its own loop", count: 200_000),
    Workload("self_post", "timer", "the same with a timer 1,000 s ahead", count: 200_000, pending: 1),
    Workload(
      "self_post_other", "10000", "the same while 10000 wait for another mode", count: 200_000, size: 10000,
      isLong: true),
    Workload("self_post2", "", "two callbacks, each of which queues the other", count: 200_000, isLong: true),
    Workload(
      "port_rtt", "same", "a message of 64 bytes to a loop on another thread and one back, one CPU", .latency,
      count: 20000, size: 64, placement: BENCH_SAME_CPU, quick: .fewerOperations(5)),
    Workload(
      "port_rtt", "split", "the same on two CPUs", .latency, count: 4000, size: 64, placement: BENCH_SPLIT_CPUS),
  ]

  private static let processes = [
    Workload(
      "port_xrtt", "same", "a message of 64 bytes to another process and back, one CPU", .latency, count: 10000,
      placement: BENCH_SAME_CPU, quick: .fewerOperations(5)),
    Workload("port_xrtt", "split", "the same on two CPUs", .latency, count: 4000, placement: BENCH_SPLIT_CPUS),
    Workload(
      "port_big", "16M", "a payload of 16 MB to another process, which reads it and answers", count: 60,
      size: 16 << 20, placement: BENCH_SPLIT_CPUS),
    Workload(
      "port_big", "16M in place", "the same, made where the other process will find it", count: 60, size: 16 << 20,
      active: 1, placement: BENCH_SPLIT_CPUS),
  ]

  private static let timers = [
    Workload("timer_ic", "1000", "1000 timers pending: insert and cancel one more", count: 200_000, size: 1000),
    Workload(
      "timer_ic", "100000", "100000 timers pending: insert and cancel one more", count: 200_000, size: 100_000,
      isLong: true),
    Workload(
      "timer_ic", "1000000", "1000000 timers pending: insert and cancel one more", count: 200_000, size: 1_000_000,
      isLong: true),
    Workload(
      "timer_ic", "1000 again", "the same with a timer that can be armed again", count: 200_000, size: 1000, active: 1),
    Workload(
      "timer_rearm", "100000", "push out one of 100000 idle timeouts", count: 200_000, size: 100_000,
      quick: .fewerOperations(40)),
    Workload(
      "timer_rearm", "100000 after", "the same, by a delay from now", count: 200_000, size: 100_000, active: 1,
      quick: .fewerOperations(40)),
    Workload(
      "timer_idle", "100000", "100000 idle timeouts of a minute, reset for a minute: what moves in the heap", .moves,
      count: 6_500_000, size: 100_000, quick: .same, isLong: true),
    Workload("timer_fire", "10000", "10000 timers are due: one run fires them", size: 10000),
    Workload("timer_fire", "100000", "100000 timers are due: one run fires them", size: 100_000, isLong: true),
    Workload(
      "timer_firewin", "20000 exact", "20000 timers spread over a second: the processor's time of each", .processor,
      size: 20000, windowMs: 1000, quick: .smallerWindow(10), isLong: true),
    Workload(
      "timer_firewin", "20000 1ms", "the same, each may be a millisecond late", .processor, size: 20000,
      windowMs: 1000, toleranceUs: 1000, quick: .smallerWindow(10), isLong: true),
    Workload("timer_late", "1ms", "a timer of 1 ms, armed again: how late", .latency, count: 300, quick: few),
    Workload("timer_drift", "1ms", "a timer every 1 ms: how late its last date", .drift, count: 300, quick: few),
  ]

  private static let few = Quick.fewerOperations(6)

  private static let descriptors = [
    Workload(
      "fd_dispatch", "100 1", "100 pipes, 1 active: read and pass on a byte", count: 50000, size: 100, active: 1),
    Workload(
      "fd_dispatch", "100 1 timer", "the same with a timer 1,000 s ahead", count: 50000, size: 100, active: 1,
      pending: 1),
    Workload(
      "fd_dispatch", "1000 1", "1000 pipes, 1 active: read and pass on a byte", count: 50000, size: 1000, active: 1,
      isLong: true),
    Workload("fd_dispatch", "1000 100", "1000 pipes, 100 active", count: 50000, size: 1000, active: 100),
    Workload("fd_dispatch", "9000 1", "9000 pipes, 1 active", count: 50000, size: 9000, active: 1, isLong: true),
    Workload("fd_dispatch", "9000 100", "9000 pipes, 100 active", count: 50000, size: 9000, active: 100, isLong: true),
    Workload(
      "echo", "same", "a byte there and back between two loops, one CPU", .latency, count: 10000,
      placement: BENCH_SAME_CPU, quick: .fewerOperations(5)),
    Workload("echo", "split", "the same on two CPUs", .latency, count: 4000, placement: BENCH_SPLIT_CPUS),
    Workload("fd_addrm", "1000", "1000 watched: add and remove one more", count: 20000, size: 1000),
    Workload("fd_addrm", "1000 pass", "the same, with a pass after each", count: 20000, size: 1000, active: 1),
    Workload("fd_addrm", "10000", "10000 watched: add and remove one more", count: 20000, size: 10000, isLong: true),
    Workload(
      "fd_addrm", "10000 pass", "the same, with a pass after each", count: 20000, size: 10000, active: 1, isLong: true),
  ]

  private static let loops = [
    Workload("startup", "", "make a loop, run it empty, destroy it", count: 500),
    Workload("iter", "0", "a pass that does not wait and finds nothing", count: 50000),
    Workload("iter", "0 timer", "the same with a timer 1,000 s ahead", count: 50000, pending: 1),
    Workload("iter", "1", "the same with an observer", count: 50000, size: 1, isLong: true),
    Workload("iter", "10", "the same with 10 observers", count: 50000, size: 10),
    Workload(
      "source_addrm", "10", "10 sources with an equality: add and remove one more", count: 20000, size: 10, isLong: true
    ),
    Workload(
      "source_addrm", "4000", "4000 sources with an equality: add and remove one more", count: 20000, size: 4000,
      isLong: true),
    Workload("mode_switch", "", "an event in a mode of 1000 counters, one in a mode of 4", count: 10000, size: 1000),
  ]

  private static let tasks = [
    Workload(
      "actor_hop", "same", "a task calls an actor on a loop and goes on, one CPU", .latency, count: 20000,
      placement: BENCH_SAME_CPU, quick: .fewerOperations(5)),
    Workload("actor_hop", "free", "the same, not pinned", .latency, count: 4000),
    Workload("actor_jobs", "64", "64 tasks call one actor", count: 200_000, size: 64),
    Workload("actor_call", "", "an actor calls another one on the same loop", count: 200_000),
    Workload("actor_call", "preferring", "the same, in a task that prefers the loop", count: 200_000, size: 1),
    Workload("actor_call", "ten lines", "the same, by an executor of ten lines", count: 200_000, size: 2),
    Workload("task_sleep", "1ms", "a task sleeps for 1 ms: how late it goes on", .latency, count: 300, quick: few),
    Workload(
      "task_sleep", "loop", "the same, of a task that runs on the loop", .latency, count: 300, active: 1, quick: few),
    Workload("task_stream", "", "an element to a task that awaits a sequence", count: 50000, size: 64),
    Workload("task_stream", "loop", "the same, to a task that runs on the loop", count: 50000, size: 64, active: 1),
  ]

  private static let memory = [
    Workload("mem_loop", "100", "memory of a loop", .memory, size: 100, quick: .same),
    Workload("mem_timer", "100000", "memory of a timer, armed", .memory, size: 100_000, quick: .same),
    Workload("mem_fd", "5000", "memory of a watched descriptor", .memory, size: 5000, quick: .same),
  ]

  private static let onMain = [
    Workload(
      "wake_rtt", "same main", "a wake to the main loop and back, one CPU", .latency, count: 20000,
      placement: BENCH_SAME_CPU, quick: .fewerOperations(5), isOnMain: true),
    Workload(
      "wake_rtt", "split main", "the same on two CPUs", .latency, count: 4000, placement: BENCH_SPLIT_CPUS,
      isOnMain: true),
    Workload(
      "post", "1 main", "one thread posts to the main loop", count: 200_000, size: 1, placement: BENCH_SPLIT_CPUS,
      isOnMain: true),
    Workload("self_post", "main", "a callback queues the next one on the main loop", count: 200_000, isOnMain: true),
    Workload("main_queue", "main", "a function of the main queue sends the next one", count: 50000, isOnMain: true),
    Workload(
      "timer_late", "1ms main", "a timer of 1 ms on the main loop, armed again: how late", .latency, count: 300,
      quick: .same, isOnMain: true),
    Workload(
      "fd_dispatch", "100 1 main", "100 pipes on the main loop, 1 active", count: 50000, size: 100, active: 1,
      isOnMain: true),
    Workload(
      "echo", "same main", "a byte to the main loop and back, one CPU", .latency, count: 10000,
      placement: BENCH_SAME_CPU, quick: .fewerOperations(5), isOnMain: true),
    Workload("iter", "0 main", "a pass of the main loop that does not wait", count: 50000, isOnMain: true),
  ]
}
