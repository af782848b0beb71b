import RunLoopKit
import RunLoopTesting
import Testing

enum Bodies {
  static func anHourPasses() throws {
    let time = VirtualTime.install()
    let start = time.now
    try RunLoop.current.add(RunLoop.Timer(fireDate: start.advanced(by: .seconds(3600))) { _ in RunLoop.current.stop() })
    let result = try RunLoop.current.run()
    precondition(result == .stopped && start.duration(to: time.now) == .seconds(3600))
  }
}

// SAMPLE: testing-exit
