import CGLib
import Dispatch
import Glibc
import RunLoopGLib
import RunLoopKit

// What a hop to the main thread takes while GLib is busy, and how often an idle main thread wakes. The seconds of the
// idle part are the first argument; 10 without one.

let idleSeconds = CommandLine.arguments.count > 1 ? guint(CommandLine.arguments[1]) ?? 10 : 10
let hops = 5000

nonisolated(unsafe) let mainLoop = g_main_loop_new(nil, 0)
try GLibHost(of: .main)

func now() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// On the main thread only.
final class Delays: @unchecked Sendable {
  private var delays: [UInt64] = []

  func arrives(sentAt: UInt64) {
    delays.append(now() - sentAt)
    if delays.count == hops { g_main_loop_quit(mainLoop) }
  }

  func report(_ name: String) {
    delays.sort()
    func microseconds(_ part: Double) -> Int { Int(delays[Int(Double(delays.count - 1) * part)] / 1000) }
    print("\(name): p50 \(microseconds(0.5)) us, p99 \(microseconds(0.99)) us, most \(microseconds(1)) us")
  }
}

/// Other threads send, one hop about every millisecond.
@MainActor
func measure(_ name: String, _ send: @escaping @Sendable (Delays) async -> Void) {
  let delays = Delays()
  let sender = Task.detached {
    for _ in 0..<hops {
      try await Task.sleep(for: .microseconds(UInt64.random(in: 500...1500)))
      await send(delays)
    }
  }
  g_main_loop_run(mainLoop)
  withExtendedLifetime(sender) {}
  delays.report(name)
}

@MainActor
func measureBoth(_ host: String) {
  measure("\(host), DispatchQueue.main") { delays in
    let sentAt = now()
    DispatchQueue.main.async { delays.arrives(sentAt: sentAt) }
  }
  measure("\(host), @MainActor") { delays in
    let sentAt = now()
    await MainActor.run { delays.arrives(sentAt: sentAt) }
  }
}

/// A source that is always ready, with 100 us of work in each iteration.
let burn: GSourceFunc = { _ in
  let end = now() + 100_000
  while now() < end {}
  return 1
}

/// GLib's sleeps that have ended. What the system counts of a thread has page faults and the like in it, too.
nonisolated(unsafe) var polls = 0
g_main_context_set_poll_func(nil) { descriptors, count, timeout in
  polls += 1
  return g_poll(descriptors, count, timeout)
}

measureBoth("GLib idle")
let source = g_idle_add_full(G_PRIORITY_DEFAULT, burn, nil, nil)
measureBoth("GLib busy")
g_source_remove(source)

let end: GSourceFunc = { _ in
  g_main_loop_quit(mainLoop)
  return 0
}
g_timeout_add(1000 * idleSeconds, end, nil)
for _ in 0..<10 { g_main_context_iteration(nil, 0) }
polls = 0
g_main_loop_run(mainLoop)
print("idle for \(idleSeconds) s: \(polls - 1) wakes, beside the end")
