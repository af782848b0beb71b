import Dispatch
import Glibc
import RunLoopKit

import class RunLoopKit.RunLoop

/// The main thread ends in dispatchMain(), which serves the main queue alone.
try RunLoop.main.add(RunLoop.Timer(after: .seconds(60)) { _ in print("it was called") })
RunLoop.diagnostics.handler = { _, text in
  print("RunLoopKit: \(text)")
  DispatchQueue.main.async {
    print("the main queue goes on")
    exit(0)
  }
}
dispatchMain()
