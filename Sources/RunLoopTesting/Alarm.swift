import RunLoopKit

extension Turns {
  func alarm(after delay: Duration, _ body: @escaping @Sendable () -> Void) -> (@Sendable () -> Void)? {
    let timer = RunLoop.Timer(fireDate: RunLoop.Instant.now.advanced(by: delay)) { _ in body() }
    timer.label = "time limit of a task"
    timer.isHidden = true
    timer.keepsRunning = false
    guard (try? RunLoop.current.add(timer, to: .common)) != nil else { return nil }
    return { timer.invalidate() }
  }
}
