import CGLib
import Dispatch
import RunLoopGLib
import RunLoopKit

nonisolated(unsafe) let mainLoop = g_main_loop_new(nil, 0)
let loop = RunLoop.main
try GLibHost(of: loop)  // from now on GLib serves it

DispatchQueue.main.async {
  print("a function of the main queue")
  Task { @MainActor in
    print("a task of the main actor")
    let answer = await Task.detached { 6 * 7 }.value
    print("which goes on: \(answer)")
    try loop.add(RunLoop.Timer(after: .milliseconds(10)) { _ in addTimeout() })
  }
}

func addTimeout() {
  print("a timer of the loop")
  let timeout: GSourceFunc = { _ in
    print("a timeout of GLib")
    g_main_loop_quit(mainLoop)
    return 0
  }
  g_timeout_add(10, timeout, nil)
}

g_main_loop_run(mainLoop)
print("over")
