import CTestSupport
import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization
import Testing

/// What a `run` leaves behind, and waits of one virtual time's threads for another's. What would hang, and what counts the
/// process's descriptors, has a process of its own.
@Suite struct VirtualEndTests {
  @Test func aRunThatHasWaitedForRealityLeavesNoDescriptor() async {
    await #expect(processExitsWith: .success) { try countEventDescriptors(waitForReality) }
  }

  @Test func anInstalledTimeThatHasWaitedForRealityLeavesNoDescriptor() async {
    await #expect(processExitsWith: .success) { countEventDescriptors(installAndWaitForReality) }
  }

  @Test func aDescriptionLeavesNoDescriptor() async {
    await #expect(processExitsWith: .success) { try describeOften() }
  }

  @Test func aRunLeavesNoStack() async {
    await #expect(processExitsWith: .success) { try runOften() }
  }

  @Test func aThreadThatNobodyJoinsLeavesNoStack() async {
    await #expect(processExitsWith: .success) { try leaveThreadsAlone() }
  }

  @Test func aRunInsideAnotherTimePassesTheTurnOn() async {
    await #expect(processExitsWith: .success) { try runInsideAnotherTime() }
  }

  @Test func joiningAThreadOfAnotherTimePassesTheTurnOn() async {
    await #expect(processExitsWith: .success) { try joinAThreadOfAnotherTime() }
  }

  @Test func aRunForWhichThereIsNoThreadIsAnError() async {
    await #expect(processExitsWith: .success) { runWithoutAThread() }
  }

  @Test func aThreadThatGoesToAnotherTimeIsJoined() async {
    await #expect(processExitsWith: .success) { try joinAThreadThatHasGone() }
  }

  /// The own thread runs only when its processor has nothing else to do: what it did behind the answer would be seen.
  @Test func whatARunHasHeldIsGoneWhenItReturns() {
    let left = Mutex(-1)
    let caller = makeThread {
      guard test_stay_on_this_processor() == 0 else { return }
      left.withLock { $0 = (0..<20).count { _ in !isGoneAfterARun() } }
    }
    pthread_join(caller, nil)
    #expect(left.withLock { $0 } == 0)
  }
}

private final class Held: Sendable {}

/// SCHED_IDLE, which <sched.h> keeps for GNU's own programs.
private let idlePolicy: Int32 = 5

private func isGoneAfterARun() -> Bool {
  weak var held: Held?
  func run() throws {
    held = try VirtualTime.run { _ in
      var parameters = sched_param()
      sched_setscheduler(0, idlePolicy, &parameters)
      return Held()
    }
  }
  do { try run() } catch { Issue.record(error) }
  return held == nil
}

// MARK: Descriptors

/// The process has a few of its own, which come and go while its first thread ends.
private func countEventDescriptors(_ wait: () throws -> Void) rethrows {
  let (times, others) = (40, 8)
  let before = eventDescriptors()
  for _ in 0..<times { try wait() }
  let after = eventDescriptors()
  precondition(after < before + times - others, "\(after) event descriptors, before \(before)")
}

private func waitForReality() throws {
  let reports = FaultCaseTests.Counter()
  try VirtualTime.run(whenIdle: .report { reports.increment() }, whenStuck: .abort(after: .seconds(10))) { time in
    waitForReality(in: time, reports)
  }
}

/// On a thread that ends with what it has installed.
private func installAndWaitForReality() {
  let thread = makeThread {
    let reports = FaultCaseTests.Counter()
    let time = VirtualTime.install(whenIdle: .report { reports.increment() }, whenStuck: .abort(after: .seconds(10)))
    waitForReality(in: time, reports)
  }
  pthread_join(thread, nil)
}

private func waitForReality(in time: VirtualTime, _ reports: FaultCaseTests.Counter) {
  let (gate, waiting) = (time.makeGate(), callingThread())
  let opener = makeThread {
    // What it sleeps in after the report is the wait for reality.
    while reports.value == 0 || !isAsleep(waiting) { sched_yield() }
    gate.open()
  }
  gate.wait()
  pthread_join(opener, nil)
  precondition(reports.value == 1)
}

private func eventDescriptors() -> Int {
  (0..<256).count { descriptor in
    var target = [CChar](repeating: 0, count: 64)
    let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
    return target.prefix(max(0, count)).elementsEqual("anon_inode:[eventfd]".utf8CString.dropLast())
  }
}

private func describeOften() throws {
  let (count, others) = (20, 8)
  try VirtualTime.run { time in
    let sleeper = time.start { time.advance(by: .seconds(2)) }
    time.advance(by: .seconds(1))
    let before = openDescriptors()
    for _ in 0..<count { precondition(time.description.contains("waits for a moment of the clock")) }
    let after = openDescriptors()
    precondition(after < before + others, "\(after) descriptors, before \(before)")
    sleeper.join()
  }
}

private func openDescriptors() -> Int { (0..<1024).count { fcntl($0, F_GETFD) >= 0 } }

// MARK: Stacks

/// A stack that is kept is two mappings, with the page that guards it. A thread ends a little later than its run.
private func keepsNoStack(_ endAThread: () throws -> Void) rethrows {
  let threads = 60
  for _ in 0..<4 { try endAThread() }
  let (before, began) = (mappings(), time(nil))
  for _ in 0..<threads { try endAThread() }
  while mappings() >= before + threads {
    precondition(time(nil) < began + 30, "\(mappings()) mappings, before \(before)")
    sched_yield()
  }
}

private func runOften() throws { try keepsNoStack { try VirtualTime.run { _ in } } }

/// Let go of before the thread has begun, and after its end.
private func leaveThreadsAlone() throws {
  try VirtualTime.run { time in
    keepsNoStack {
      _ = time.start {}
      time.advance(by: .seconds(1))
    }
    keepsNoStack {
      let thread = time.start {}
      time.advance(by: .seconds(1))
      withExtendedLifetime(thread) {}
    }
  }
}

/// No address space has room for its stack.
private func runWithoutAThread() {
  precondition(test_ask_for_stacks(1 << 46) == 0)
  do {
    try VirtualTime.run { _ in }
    preconditionFailure("there is a thread")
  } catch let error as RunLoopError {
    precondition(error.errno == EAGAIN && error.call == "pthread_create", "\(error)")
  } catch { preconditionFailure("\(error)") }
}

private func mappings() -> Int {
  let file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
  defer { close(file) }
  var (lines, bytes) = (0, [UInt8](repeating: 0, count: 1 << 16))
  while true {
    let count = read(file, &bytes, bytes.count)
    guard count > 0 else { return lines }
    lines += bytes.prefix(count).count { $0 == UInt8(ascii: "\n") }
  }
}

// MARK: Two virtual times

private func runInsideAnotherTime() throws {
  try VirtualTime.run(whenStuck: .abort(after: .seconds(10))) { outer in
    let (meeting, start) = (Meeting(), outer.now)
    let other = outer.start {
      outer.advance(by: .seconds(3))
      meeting.arrive()
    }
    try VirtualTime.run { _ in meeting.awaitArrival() }
    precondition(outer.now == start.advanced(by: .seconds(3)))
    other.join()
  }
}

private func joinAThreadOfAnotherTime() throws {
  let meeting = Meeting()
  let thread = Mutex<VirtualTime.Thread?>(nil)
  let maker = makeThread {
    let time = VirtualTime.install()
    thread.withLock { $0 = time.start { meeting.awaitArrival() } }
    time.leave()
  }
  pthread_join(maker, nil)
  let foreign = thread.withLock { $0! }
  try VirtualTime.run(whenStuck: .abort(after: .seconds(10))) { time in
    let start = time.now
    let other = time.start {
      time.advance(by: .seconds(3))
      meeting.arrive()
    }
    foreign.join()
    precondition(time.now == start.advanced(by: .seconds(3)))
    other.join()
  }
}

/// Nobody can wait any longer for its turns here.
private func joinAThreadThatHasGone() throws {
  let log = Log()
  try VirtualTime.run(whenStuck: .abort(after: .seconds(10))) { time in
    let thread = time.start {
      time.leave()
      let other = VirtualTime.install(startingAt: RunLoop.Instant(nanoseconds: 5))
      other.advance(by: .seconds(1))
      log.append("\(other.now.nanoseconds)")
    }
    thread.join()
    precondition(log.all == ["1000000005"])
    precondition(time.now == VirtualTime.defaultStart)
  }
}
