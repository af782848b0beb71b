internal import RunLoopLibc

/// Watches for work that `run(in:_:)` does not serve while it runs an async function, such as the main actor's jobs in
/// a private mode. The function may wait for that work, and the run cannot know whether it does. When the work has
/// waited for a second, the run reports it, once. Used by the loop's thread only.
final class UnservedWork: @unchecked Sendable {
  private static let reportDelay: UInt64 = 1_000_000_000
  private unowned let loop: RunLoop
  private let mode: RunLoop.Mode
  /// Watches the main dispatch queue's descriptor; nil if the run serves the queue, or there is none.
  private var handle: RunLoop.FileDescriptorSource?
  private let host: (any HostedMainActor)?
  private var alarm: RunLoop.Timer?
  private var isOver = false
  private var hasEnded = false

  init(in mode: RunLoop.Mode, on loop: RunLoop) {
    self.loop = loop
    self.mode = mode
    host = loop.isMain ? MainActor.shared.unownedExecutor.asSerialExecutor() as? any HostedMainActor : nil
    host?.beginWatch()
    if loop.isMain, loop.leavesOutMainQueue(in: mode) { watchMainQueue() }
  }

  func end() {
    guard !hasEnded else { return }
    hasEnded = true
    isOver = true
    host?.endWatch()
    handle?.invalidate()
    alarm?.invalidate()
  }

  /// Called after each pass. An enqueued job causes a pass; `beginWatch` makes a job that a host is to run do so, too.
  func check() {
    if alarm == nil, !isOver, waitingJobs != nil { setAlarm() }
  }

  /// The queue's descriptor stays readable until the queue is served. The source gets a duplicate, because the loop
  /// itself watches the original, edge-triggered, in other modes.
  private func watchMainQueue() {
    guard let descriptor = try? MainQueuePort.fileDescriptor(),
      let copy = try? RunLoopError.checkDescriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, 0), "fcntl(F_DUPFD_CLOEXEC)")
    else { return }
    handle = try? RunLoop.FileDescriptorSource(
      fileDescriptor: copy, interest: .readable, trigger: .oneShot, ownership: .closesWhenInvalidated,
      unpollable: .refuse, limit: nil, order: 0, onlyLoop: loop
    ) { [unowned self] _, _ in if alarm == nil { setAlarm() } }
    if let handle { add(handle, "main queue that a run does not serve") } else { close(copy) }
  }

  private func setAlarm() {
    let made = RunLoop.Timer(
      .suspending, date: Time.add(loop.kernel.now(), Self.reportDelay), interval: .zero, tolerance: .zero, order: 0,
      onlyLoop: loop
    ) { [unowned self] _ in ring() }
    alarm = made
    add(made, "work that a run does not serve")
  }

  private func add(_ item: RunLoop.Item, _ label: String) {
    item.label = label
    item.isHidden = true
    item.keepsRunning = false
    _ = try? loop.add(item, to: mode)  // if it fails, nothing is reported
  }

  private func ring() {
    alarm = nil
    guard let (work, remedy) = waitingFunctions ?? waitingJobs else {
      handle?.interest = .readable
      return
    }
    isOver = true
    Diagnosis.warn(
      """
      run(in:_:) runs mode "\(mode)", and for a second \(work) have waited, which it does not serve: if the \
      function of the run awaits them, it waits for ever; \(remedy)
      """)
  }

  private var waitingFunctions: (work: String, remedy: String)? {
    guard let handle, loop.kernel.isReadable(handle.fileDescriptor) else { return nil }
    return (
      "functions of the main dispatch queue, as the main actor's jobs are,", RunLoop.wayToServeMainQueue
    )
  }

  private var waitingJobs: (work: String, remedy: String)? {
    if host?.hasJobs == true { return ("jobs of the main actor", "a host runs them, and no run loop does") }
    guard let modes = loop.modesOfUnservedJobs(in: mode) else { return nil }
    return (
      "jobs of the executor of \(modes)", "run one of its modes, and not inside of one of its jobs"
    )
  }
}

extension RunLoop {
  static let wayToServeMainQueue =
    "run it in a common mode, not inside of a main queue's block, and leave servesMainQueue on"

  /// True if a run of the mode that begins now does not serve the main dispatch queue.
  func leavesOutMainQueue(in mode: Mode) -> Bool {
    lock.withLock { modeToRun(mode).map { !isKeptByMainQueue($0) } ?? true }
  }

  /// The modes of the first executor whose waiting jobs a run of this mode does not serve; nil if there is none.
  fileprivate func modesOfUnservedJobs(in mode: Mode) -> String? {
    lock.withLock {
      guard let mode = state.mode(mode) else { return nil }
      for case let executor as Executor in state.companions.all where executor.hasUnservedJobs(in: mode) {
        return executor.modes.map { "\"\($0)\"" }.joined(separator: ", ")
      }
      return nil
    }
  }
}
