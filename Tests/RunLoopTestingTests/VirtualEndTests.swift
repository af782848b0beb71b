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
    await #expect(processExitsWith: .success) { try countEventDescriptors() }
  }

  @Test func aRunInsideAnotherTimePassesTheTurnOn() async {
    await #expect(processExitsWith: .success) { try runInsideAnotherTime() }
  }

  @Test func joiningAThreadOfAnotherTimePassesTheTurnOn() async {
    await #expect(processExitsWith: .success) { try joinAThreadOfAnotherTime() }
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

private func countEventDescriptors() throws {
  try waitForReality()  // what is made once for a process is made
  let before = eventDescriptors()
  for _ in 0..<4 { try waitForReality() }
  precondition(eventDescriptors() == before, "\(eventDescriptors()) event descriptors, before \(before)")
}

private func waitForReality() throws {
  try VirtualTime.run(whenStuck: .abort(after: .seconds(10))) { time in
    let gate = time.makeGate()
    let count = eventDescriptors()
    let opener = makeThread {
      // The one more is the first thing of a wait for reality.
      while eventDescriptors() == count { sched_yield() }
      gate.open()
    }
    gate.wait()
    pthread_join(opener, nil)
  }
}

private func eventDescriptors() -> Int {
  (0..<256).count { descriptor in
    var target = [CChar](repeating: 0, count: 64)
    let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
    return target.prefix(max(0, count)).elementsEqual("anon_inode:[eventfd]".utf8CString.dropLast())
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
