import Dispatch
import Foundation
import RunLoopKit

import class RunLoopKit.RunLoop

/// The main thread ends in dispatchMain(), which serves the main queue alone.
try RunLoop.main.add(RunLoop.Timer(after: .seconds(60)) { _ in print("it was called") })
Thread.detachNewThread {
  while !RunLoop.main.hasEnded { Thread.sleep(forTimeInterval: 0.001) }
  DispatchQueue.main.async {
    print("the main queue goes on")
    exit(0)
  }
}
dispatchMain()
