// A program that touches everything a run loop does, while one system call fails: `failing-calls KIND CALL ERRNO`. What it has
// asked for must happen, or it must have been told that it does not, by an error or on standard error. Ends with 0 if so, with 1
// if something is lost, and with 3 if the program makes fewer such calls. Without arguments it prints how many calls of each kind
// it makes, and the errors of each; scripts/failing-calls tries them all.
import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit

import class RunLoopKit.RunLoop

@main
struct FailingCalls {
  static func main() throws {
    let words = CommandLine.arguments
    try RunLoop.Signal.block(.user1, .child)
    let said = Said()
    FailingKernel.install()
    if words.count == 4 { FailingKernel.plan(words[1], Int(words[2])!, Int32(words[3])!) }

    let program = Program()
    program.askForAll()
    program.serve()
    let isComplete = program.ledger.report(said.lines())
    if words.count < 4 {
      for ((name, count), kind) in zip(FailingKernel.calls, FailingKernel.kinds) {
        print("calls \(name) \(count) \(kind.errors.map(String.init).joined(separator: ","))")
      }
    } else if !FailingKernel.hasFailed {
      exit(3)
    }
    exit(isComplete ? 0 : 1)
  }
}

/// The main loop, served by this thread, and a worker's.
final class Program: @unchecked Sendable {
  let ledger = Ledger()
  private let loop = RunLoop.current
  private let worker = RunLoop.Thread(name: "worker")
  private var kept: [AnyObject] = []

  func askForAll() {
    askForTimers()
    askForSources()
    askForDescriptors()
    askForEvents()
    askForBlocks()
    askForWorker()
    askForMessages()
    askForASecondMode()
    askForAHostedLoop()
  }

  /// Until all is settled. A run that throws has told everybody; it is begun again, as a program would that wants to go on.
  func serve() {
    ledger.close { [loop] in loop.stop() }
    let end = RunLoop.Instant.now.advanced(by: .seconds(3))
    var refusals = 0
    while RunLoop.Instant.now < end {
      do {
        if case .stopped = try loop.run(in: .default, until: end) { break }
      } catch {
        refusals += 1
        print("run: \(error)")
        if refusals > 3 { break }
      }
    }
    worker.stop(.now)
    do { try worker.join(timeout: .seconds(3)) } catch { print("join: \(error)") }
  }

  private func add(_ item: RunLoop.Item) throws {
    kept.append(item)
    _ = try loop.add(item)
  }

  // MARK: What is asked for

  private func askForTimers() {
    let ledger = ledger
    ledger.expect("timer") {
      try add(RunLoop.Timer(fireDate: .now.advanced(by: .milliseconds(1))) { _ in ledger.note("timer") })
    }
    ledger.expect("repeating timer", times: 3) {
      try add(
        RunLoop.Timer(fireDate: .now, interval: .microseconds(300)) { timer in
          if ledger.note("repeating timer") == 3 { timer.invalidate() }
        })
    }
    ledger.expect("tolerant timer") {
      try add(
        RunLoop.Timer(fireDate: .now.advanced(by: .milliseconds(1)), tolerance: .milliseconds(1)) { _ in
          ledger.note("tolerant timer")
        })
    }
    ledger.expect("wall timer") {
      try add(
        RunLoop.Timer(fireDate: RunLoop.WallInstant.now.advanced(by: .milliseconds(1))) { _ in ledger.note("wall timer")
        })
    }
    ledger.expect("continuous timer") {
      try add(
        RunLoop.Timer(fireDate: RunLoop.ContinuousInstant.now.advanced(by: .milliseconds(1))) { _ in
          ledger.note("continuous timer")
        })
    }
    ledger.expect("rearmed timer", times: 2) {
      try add(
        RunLoop.Timer(rearmable: .now) { timer in
          if ledger.note("rearmed timer") == 1 { timer.rearm(after: .microseconds(200)) }
        })
    }
  }

  private func askForSources() {
    let (ledger, loop) = (ledger, loop)
    ledger.expect("source") {
      let source = RunLoop.Source { _ in ledger.note("source") }
      try add(source)
      source.signal()
    }
    ledger.expect("source of a thread") {
      let source = RunLoop.Source { _ in ledger.note("source of a thread") }
      try add(source)
      elsewhere {
        source.signal()
        loop.wakeUp()
      }
    }
    ledger.expect("counter", times: 2) {
      let descriptor = test_eventfd(0)
      try add(
        RunLoop.PortSource(fileDescriptor: descriptor) { _ in
          if ledger.note("counter") == 1 { Self.bump(descriptor) }
        })
      Self.bump(descriptor)
    }
  }

  private static func bump(_ descriptor: Int32) {
    var one: UInt64 = 1
    _ = Glibc.write(descriptor, &one, 8)
  }

  private static func makePipe() -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    precondition(test_pipe(&ends) == 0)
    return (ends[0], ends[1])
  }

  /// A source that is told of an error, or that the system does not watch its descriptor any more, was told.
  private func askForDescriptors() {
    let (ledger, loop) = (ledger, loop)
    for (name, trigger) in [("level", .level), ("edge", .edge), ("one shot", .oneShot)]
      as [(String, RunLoop.FileDescriptorSource.Trigger)]
    {
      ledger.expect("descriptor \(name)") {
        let (reading, writing) = Self.makePipe()
        try add(
          RunLoop.FileDescriptorSource(fileDescriptor: reading, interest: .readable, trigger: trigger) { _, ready in
            Self.take(reading, ready, ledger, "descriptor \(name)")
          })
        elsewhere { _ = Glibc.write(writing, "x", 1) }
      }
    }
    ledger.expect("descriptor again after a nested run", times: 2) {
      let (reading, writing) = Self.makePipe()
      try add(
        RunLoop.FileDescriptorSource(fileDescriptor: reading, interest: .readable) { _, ready in
          let count = Self.take(reading, ready, ledger, "descriptor again after a nested run")
          _ = try? loop.run(in: .default, for: .microseconds(100))
          ledger.settle()
          if count == 1 { _ = Glibc.write(writing, "y", 1) }
        })
      _ = Glibc.write(writing, "x", 1)
    }
    ledger.expect("interest that was set") {
      let (_, writing) = Self.makePipe()
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: writing, interest: []) { source, ready in
        ledger.note("interest that was set")
        try? source.setInterest([])
      }
      try add(source)
      try source.setInterest(.writable)
    }
    let (reading, writing) = Self.makePipe()
    for number in [1, 2] {
      ledger.expect("shared descriptor \(number)") {
        try add(
          RunLoop.FileDescriptorSource(fileDescriptor: reading, interest: .readable, trigger: .oneShot) { _, _ in
            ledger.note("shared descriptor \(number)")
          })
      }
    }
    _ = Glibc.write(writing, "x", 1)
  }

  /// How often there was something.
  @discardableResult
  private static func take(
    _ descriptor: Int32, _ ready: RunLoop.FileDescriptorSource.Readiness, _ ledger: Ledger, _ name: String
  ) -> Int {
    var byte: UInt8 = 0
    if Glibc.read(descriptor, &byte, 1) == 1 { return ledger.note(name) }
    if ready.contains(.error) { ledger.refuse(name, "told by .error") }
    return 0
  }

  private func askForEvents() {
    let ledger = ledger
    ledger.expect("signal") {
      try add(RunLoop.SignalSource(.user1) { _, _ in ledger.note("signal") })
      kill(getpid(), SIGUSR1)
    }
    ledger.expect("child") {
      let child = try RunLoop.ChildSource.spawn("/bin/true")
      try add(RunLoop.ChildSource(processID: child) { _, _ in ledger.note("child") })
    }
    ledger.expect("file") {
      var folder = Array("/tmp/failing-calls-XXXXXX".utf8CString)
      precondition(mkdtemp(&folder) != nil)
      let path = String(decoding: folder.dropLast().map(UInt8.init), as: UTF8.self)
      defer { rmdir(path) }
      try add(RunLoop.FileWatch(path: path, events: .created) { _, _ in ledger.note("file") })
      close(open(path + "/new", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
      unlink(path + "/new")
    }
  }

  private func askForBlocks() {
    let (ledger, loop) = (ledger, loop)
    ledger.expect("block") { try loop.perform { ledger.note("block") } }
    ledger.expect("queued block") { try loop.enqueue { ledger.note("queued block") } }
    ledger.expect("block of a thread", times: 20) {
      elsewhere {
        for _ in 0..<20 {
          do { try loop.perform { ledger.note("block of a thread") } } catch {
            ledger.refuse("block of a thread", "\(error)")
          }
        }
      }
    }
    ledger.expect("delayed block") { try loop.perform(after: .milliseconds(1)) { ledger.note("delayed block") } }
    ledger.expect("idle block") { try loop.performWhenIdle { ledger.note("idle block") } }
    ledger.expect("common block") { try loop.perform(in: .common) { ledger.note("common block") } }
  }

  private func askForWorker() {
    let (ledger, worker) = (ledger, worker)
    ledger.expect("worker's block") {
      try worker.start()
      try worker.perform(
        block: { ledger.note("worker's block") }, onDrop: { ledger.refuse("worker's block", "dropped") })
    }
    ledger.expect("block that is waited for") {
      guard let loop = worker.loop else { throw RunLoopError.notStarted }
      _ = try loop.performAndWait(timeout: .seconds(2)) { ledger.note("block that is waited for") }
    }
  }

  private func askForMessages() {
    let (ledger, worker) = (ledger, worker)
    ledger.expect("message") {
      let port = RunLoop.Port { _, _ in ledger.note("message") }
      try add(port)
      let right = port.sendRight
      try worker.perform(
        block: { do { try right.send(RunLoop.Message(id: 1)) } catch { ledger.refuse("message", "\(error)") } },
        onDrop: { ledger.refuse("message", "dropped") })
    }
    ledger.expect("answer") {
      let port = RunLoop.Port(replying: { _, message in RunLoop.Message(id: message.id + 1) })
      guard let loop = worker.loop else { throw RunLoopError.notStarted }
      _ = try loop.add(port)
      kept.append(port)
      _ = try port.sendRight.request(RunLoop.Message(id: 1), timeout: .seconds(2))
      ledger.note("answer")
    }
  }

  private func askForASecondMode() {
    let (ledger, loop) = (ledger, loop)
    let mode = RunLoop.Mode(rawValue: "second")
    ledger.expect("timer in a second mode") {
      let timer = RunLoop.Timer(fireDate: .now.advanced(by: .microseconds(500))) { _ in
        ledger.note("timer in a second mode")
      }
      kept.append(timer)
      _ = try loop.add(timer, to: mode)
      try loop.perform {
        do {
          while timer.isValid { _ = try loop.run(in: mode, for: .seconds(2)) }
          ledger.settle()
        } catch { ledger.refuse("timer in a second mode", "\(error)") }
      }
    }
  }

  /// On a thread of its own, in a host that sleeps until the loop's descriptor says something.
  private func askForAHostedLoop() {
    let ledger = ledger
    ledger.expect("hosted timer") {
      elsewhere {
        let hosted = RunLoop.current
        do {
          let timer = RunLoop.Timer(fireDate: .now.advanced(by: .milliseconds(1))) { _ in ledger.note("hosted timer") }
          _ = try hosted.add(timer)
          let descriptor = try hosted.hostDescriptor().fileDescriptor
          while timer.isValid {
            var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if try !hosted.prepareToWait() { poll(&event, 1, -1) }
            try hosted.runPendingWork()
          }
        } catch { ledger.refuse("hosted timer", "\(error)") }
      }
    }
  }

  /// On a thread of its own, which nobody waits for.
  private func elsewhere(_ body: @escaping @Sendable () -> Void) {
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { argument in
        let work = Unmanaged<Work>.fromOpaque(argument!).takeRetainedValue()
        work.kernel?.enter()
        work.body()
        return nil
      }, Unmanaged.passRetained(Work(body)).toOpaque())
    precondition(status == 0)
    pthread_detach(thread)
  }
}

private final class Work: Sendable {
  let body: @Sendable () -> Void
  /// The starting thread's.
  let kernel = Kernel.current
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}
