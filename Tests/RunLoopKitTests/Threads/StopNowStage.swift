import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// A thread, one of whose callouts stops it now. What runs on it is written down.
final class StopNowStage: @unchecked Sendable {
  private let log = Box<[String]>([])
  private let counter = EventCounter()
  private let pipe = Pipe()
  private let own = Box<RunLoop.Thread?>(nil)
  private let lateSource: RunLoop.Source
  private let latePort: RunLoop.Port

  init() {
    let log = log
    lateSource = RunLoop.Source { _ in log.update { $0.append("late source") } }
    latePort = RunLoop.Port { _, _ in log.update { $0.append("late message") } }
  }

  deinit { pipe.closeBoth() }

  var loop: RunLoop { RunLoop.current }
  var lines: [String] { log.value }

  func note(_ line: String) { log.update { $0.append(line) } }

  /// Runs the thread to its end. `setUp` makes ready what its first pass calls.
  func run(_ setUp: @escaping @Sendable (RunLoop) throws -> Void) throws -> [String] {
    let thread = RunLoop.Thread(name: "stage") { [self] loop in
      try loop.add(lateSource)
      try loop.add(latePort)
      try loop.add(RunLoop.PortSource(fileDescriptor: counter.descriptor) { _ in self.note("late port") })
      try loop.add(
        RunLoop.FileDescriptorSource(fileDescriptor: pipe.reading, interest: .readable) { _, _ in
          self.note("late descriptor")
        })
      try setUp(loop)
    }
    own.value = thread
    defer { own.value = nil }
    try thread.start()
    try thread.join()
    return lines
  }

  func stop(_ ending: RunLoop.Thread.Ending = .now) { own.value?.stop(ending) }

  enum Kind: CaseIterable {
    case source, portSource, descriptor, message, block, perform, idleBlock, delayedPerform, timer, job
  }

  /// Work for the loop's thread.
  func queue(_ kind: Kind) {
    do {
      switch kind {
      case .source: lateSource.signal()
      case .portSource: counter.add()
      case .descriptor: pipe.send("x")
      case .message: try latePort.sendRight.trySend(RunLoop.Message())
      case .block: try loop.perform { self.note("late block") }
      case .perform: try loop.performAsSource { self.note("late perform") }
      case .idleBlock: try loop.performWhenIdle { self.note("late idle block") }
      case .delayedPerform: try loop.perform(after: .zero, target: self) { self.note("late delayed perform") }
      case .timer: try loop.add(RunLoop.Timer(fireDate: .now) { _ in self.note("late timer") })
      case .job: queueJob("late job", .high)
      }
    } catch { XCTFail("\(error)") }
  }

  func queueAll() { for kind in Kind.allCases { queue(kind) } }

  /// It runs in any case: here, or when the loop has ended.
  func queueJob(_ line: String, _ priority: TaskPriority? = nil) {
    let loop = loop
    Task(executorPreference: loop.executor, priority: priority) { if loop.isCurrent { self.note(line) } }
  }

  func stopAndQueueAll() {
    note("stop")
    stop()
    queueAll()
  }
}
