import CoreFoundation
import Dispatch
import Foundation
import RunLoopFoundation
import RunLoopKit

import class RunLoopKit.RunLoop

let loop = RunLoop.main
try FoundationHost(of: loop)  // from now on Foundation's loop serves it

DispatchQueue.main.async {
  print("a function of the main queue")
  Task { @MainActor in
    print("a task of the main actor")
    let answer = await Task.detached { 6 * 7 }.value
    print("which goes on: \(answer)")
    try loop.add(RunLoop.Timer(after: .milliseconds(10)) { _ in addTimer() })
  }
}

func addTimer() {
  print("a timer of the loop")
  _ = Timer.scheduledTimer(withTimeInterval: 0.01, repeats: false) { _ in
    print("a timer of Foundation")
    CFRunLoopStop(CFRunLoopGetMain())
  }
}

CFRunLoopRun()
print("over")
