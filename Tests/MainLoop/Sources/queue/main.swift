import Dispatch
import RunLoopKit
import Story

try Story.tell()
DispatchQueue.main.async { RunLoop.main.stop() }
try Story.runQueue()
