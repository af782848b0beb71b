import Dispatch
import NIOCore
import NIOPosix
import RunLoopKit
import RunLoopNIO

let loop = RunLoop.main

func serve(_ eventLoop: any EventLoop) throws {
  try NIOHost(of: loop, on: eventLoop)  // from now on the event loop serves it
  DispatchQueue.main.async {
    print("a function of the main queue")
    Task { @MainActor in
      print("a task of the main actor")
      let answer = await Task.detached { 6 * 7 }.value
      print("which goes on: \(answer)")
      try loop.add(
        RunLoop.Timer(after: .milliseconds(10)) { _ in
          print("a timer of the loop")
          eventLoop.scheduleTask(in: .milliseconds(10)) {
            print("a task of the event loop")
            eventLoop.shutdownGracefully { _ in }
          }
        })
    }
  }
}

MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { eventLoop in
  do { try serve(eventLoop) } catch { fatalError("\(error)") }
}
print("over")
