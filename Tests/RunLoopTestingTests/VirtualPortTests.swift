import Glibc
import RunLoopKit
import RunLoopPorts
import RunLoopTesting
import Testing

/// The order of messages among everything else, in virtual time.
@Suite struct VirtualPortTests {
  /// A message is a pass's one event, in turn with timers; blocks and signalled sources come before it.
  @Test func messagesTakeTheirTurnInThePass() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      let port = RunLoop.Port { _, message in log.append("message \(message.id)") }
      try loop.add(port)
      let source = RunLoop.Source { _ in log.append("source") }
      try loop.add(source)
      let timer = RunLoop.Timer(fireDate: time.now, interval: .seconds(1)) { _ in log.append("timer") }
      try loop.add(timer)
      try loop.add(RunLoop.Observer(.beforeTimers) { _, _ in log.append("pass") })
      for id in 1...3 { try port.sendRight.trySend(RunLoop.Message(id: UInt32(id))) }
      try loop.perform { log.append("block") }
      source.signal()
      for _ in 0..<4 { try loop.run(for: .zero) }
      #expect(
        log.all == [
          "pass", "block", "source", "message 1", "pass", "timer", "pass", "message 2", "pass", "message 3",
        ])
    }
  }

  /// While one mode runs, what comes for another waits, and wakes nobody.
  @Test func messagesWaitForTheirMode() async throws {
    try await VirtualTime.run { time in
      let (loop, log, start) = (RunLoop.current, Log(), time.now)
      @Sendable func seconds() -> Int64 { start.duration(to: .now).components.seconds }
      let ports = [RunLoop.Mode.default, "panel"].map { mode in
        (mode, RunLoop.Port { _, message in log.append("\(message.id) in \(loop.currentMode!) at \(seconds())") })
      }
      for (mode, port) in ports { try loop.add(port, to: mode) }
      try loop.add(RunLoop.Timer.never, to: "panel")
      let rights = ports.map { $0.1.sendRight }
      let timer = RunLoop.Timer(fireDate: start.advanced(by: .seconds(1)), interval: .seconds(1)) { timer in
        // One for each mode.
        for (index, right) in rights.enumerated() { try? right.trySend(RunLoop.Message(id: UInt32(index))) }
        if seconds() == 2 { timer.invalidate() }
      }
      try loop.add(timer, to: "panel")
      #expect(try loop.run(in: "panel", for: .seconds(5)) == .timedOut)
      #expect(log.all == ["1 in panel at 1", "1 in panel at 2"])
      #expect(try loop.run(for: .seconds(5)) == .timedOut)
      #expect(Array(log.all.dropFirst(2)) == ["0 in kCFRunLoopDefaultMode at 5", "0 in kCFRunLoopDefaultMode at 5"])
    }
  }

  /// A request's deadline is a moment of the loop's clock.
  @Test func aRequestEndsAtItsDeadline() async throws {
    try await VirtualTime.run { time in
      let (loop, log) = (RunLoop.current, Log())
      let silent = RunLoop.Port { _, message in
        // Kept: neither answered nor dropped.
        log.append("asked")
        message.reply!.onInvalidation { withExtendedLifetime(message) {} }
      }
      try loop.add(silent)
      let start = time.now
      #expect(throws: RunLoopError.timedOut) {
        _ = try silent.sendRight.request(RunLoop.Message(), timeout: .seconds(3600))
      }
      #expect(time.now == start.advanced(by: .seconds(3600)))
      #expect(log.all == ["asked"])

      let slow = RunLoop.Port { _, message in
        // In the loop's own time, while the request waits.
        _ = try? loop.perform(after: .seconds(10)) { try? message.reply!.send(RunLoop.Message(id: 7)) }
      }
      try loop.add(slow)
      #expect(try slow.sendRight.request(RunLoop.Message()).id == 7)
      #expect(time.now == start.advanced(by: .seconds(3610)))
    }
  }
}

extension VirtualPortTests {
  /// In a process of its own, which has its own folder of names.
  @Test func aSendToAFullConnectionGoesOnWhenThereIsRoom() async {
    await #expect(processExitsWith: .success) { try inAFolder { try sendToAFullConnection() } }
  }
}

extension VirtualPortTests {
  /// No moment of virtual time comes while a thread waits for what another one reads.
  @Test func aSendDoesNotWaitForTheReaderOfLargeMessages() async {
    await #expect(processExitsWith: .success) { try inAFolder { try sendWhatNobodyReads() } }
  }
}

private func sendWhatNobodyReads() throws {
  try VirtualTime.run(whenStuck: .abort(after: .seconds(10))) { time in
    let (start, taken) = (time.now, FaultCaseTests.Counter())
    let port = try RunLoop.Port(registeredAs: "full") { _, _ in taken.increment() }
    try RunLoop.current.add(port)
    var policy = RunLoop.PeerPolicy.sameUser
    policy.unreadBytes = 0
    let right = try RunLoop.Port.connect(to: "full", accepting: policy)
    let bytes = RunLoop.Message.Bytes([UInt8](repeating: 1, count: 100_000))
    for _ in 0..<3 { try right.trySend(RunLoop.Message(bytes: bytes)) }
    precondition(time.now == start)
    _ = try RunLoop.current.run(for: .seconds(1))
    precondition(taken.value == 3)
  }
}

private func inAFolder(_ body: () throws -> Void) throws {
  var template = Array("/tmp/ports-virtual-XXXXXX".utf8CString)
  precondition(mkdtemp(&template) != nil)
  let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  setenv("XDG_RUNTIME_DIR", path, 1)
  try body()
  for name in ["full", "full.lock"] { unlink("\(path)/runloopkit/\(name)") }
  rmdir("\(path)/runloopkit")
  rmdir(path)
}

/// Nobody reads for a minute, which is longer than the first sender waits; then the receiver begins.
private func sendToAFullConnection() throws {
  try VirtualTime.run(whenStuck: .abort(after: .seconds(10))) { time in
    let (start, taken) = (time.now, FaultCaseTests.Counter())
    let port = try RunLoop.Port(registeredAs: "full") { _, _ in taken.increment() }
    let thread = RunLoop.Thread(name: "receiver")
    try thread.start()
    try thread.loop!.add(port, to: "reading")
    let right = try RunLoop.Port.connect(to: "full")
    var sent = 0
    do {
      while true {
        try right.trySend(RunLoop.Message(id: 1))
        sent += 1
      }
    } catch RunLoopError.portFull {}
    do {
      try right.send(RunLoop.Message(id: 3), timeout: .seconds(50))
      preconditionFailure("there was room")
    } catch RunLoopError.timedOut {}
    precondition(start.advanced(by: .seconds(50)) <= time.now && time.now < start.advanced(by: .seconds(51)))
    try thread.perform {
      time.sleep(until: start.advanced(by: .seconds(60)))
      _ = try? RunLoop.current.run(in: "reading", for: .seconds(7200))
    }
    try right.send(RunLoop.Message(id: 2), timeout: .seconds(3600))
    precondition(start.advanced(by: .seconds(60)) <= time.now && time.now < start.advanced(by: .seconds(61)))
    time.advance(by: .seconds(10))
    precondition(taken.value == sent + 1)
    thread.stop()
    try thread.join()
  }
}

extension RunLoop.Timer {
  fileprivate static var never: RunLoop.Timer { RunLoop.Timer(fireDate: .distantFuture) { _ in } }
}
