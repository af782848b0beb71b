import RunLoopEvents
import RunLoopKit

try RunLoop.Signal.block(.terminate)  // first of all
let loop = RunLoop.main
let manager = ServiceManager()

@MainActor func notify(_ state: String) {
  do { try manager?.notify(state) } catch { print("the service manager does not hear \(state): \(error)") }
}

try loop.assumeOnLoop { local in
  try local.signalSource(.terminate) { _, _ in loop.stop() }
  // A timer of the loop: if a callout hangs, it does not fire, and the service manager starts the service anew.
  if let limit = manager?.watchdogLimit {
    try local.timer(after: limit / 2, interval: limit / 2) { _ in notify("WATCHDOG=1") }
  }
  try local.perform { notify("READY=1\nSTATUS=serving") }  // the loop runs
}
try loop.run()
notify("STOPPING=1")
