import CoreFoundation
import Dispatch
import Foundation
import RunLoopFoundation
import RunLoopKit

import class RunLoopKit.RunLoop

// What a hop to the main thread takes while Foundation's loop is idle and busy, and how often an idle main thread wakes.
// The seconds of the idle part are the first argument; 10 without one.

let idleSeconds = CommandLine.arguments.count > 1 ? Double(CommandLine.arguments[1]) ?? 10 : 10
let hops = 5000
try FoundationHost(of: RunLoop.main)

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
    if delays.count == hops { CFRunLoopStop(CFRunLoopGetMain()) }
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
  CFRunLoopRun()
  withExtendedLifetime(sender) {}
  delays.report(name)
}

@MainActor
func measureAll(_ host: String) {
  measure("\(host), RunLoop.main.perform") { delays in
    let sentAt = now()
    try? RunLoop.main.perform { delays.arrives(sentAt: sentAt) }
  }
  measure("\(host), DispatchQueue.main") { delays in
    let sentAt = now()
    DispatchQueue.main.async { delays.arrives(sentAt: sentAt) }
  }
  measure("\(host), @MainActor") { delays in
    let sentAt = now()
    await MainActor.run { delays.arrives(sentAt: sentAt) }
  }
}

/// A source that is always signalled, with 100 us of work in each pass.
nonisolated(unsafe) var burner: CFRunLoopSource!

func addBurner() {
  var context = CFRunLoopSourceContext()
  context.perform = { _ in
    let end = now() + 100_000
    while now() < end {}
    CFRunLoopSourceSignal(burner)
  }
  burner = CFRunLoopSourceCreate(nil, 0, &context)
  CFRunLoopAddSource(CFRunLoopGetMain(), burner, kCFRunLoopCommonModes)
  CFRunLoopSourceSignal(burner)
}

/// Sleeps of Foundation's loop that have ended. What the system counts of a thread has page faults and the like in it, too.
nonisolated(unsafe) var wakes = 0
let observer = CFRunLoopObserverCreateWithHandler(nil, CFRunLoopActivity.afterWaiting.rawValue, true, 0) { _, _ in
  wakes += 1
}
CFRunLoopAddObserver(CFRunLoopGetMain(), observer, kCFRunLoopCommonModes)

measureAll("Foundation idle")
addBurner()
measureAll("Foundation busy")
CFRunLoopSourceInvalidate(burner)

let end = Timer.scheduledTimer(withTimeInterval: idleSeconds, repeats: false) { _ in
  CFRunLoopStop(CFRunLoopGetMain())
}
CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.1, false)  // what was left to do
wakes = 0
CFRunLoopRun()
print("idle for \(idleSeconds) s: \(wakes - 1) wakes, beside the end")
end.invalidate()
