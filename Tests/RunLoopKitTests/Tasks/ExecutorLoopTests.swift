import CTestSupport
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What an executor leaves to its loop, and the loop to it: its modes, its runs, its end.
final class ExecutorLoopTests: XCTestCase {
  /// Also while the thread ends: no job is run elsewhere before the last callout is over.
  func test_RLK_EXEC_2_theCalloutsOfTheEndAreIsolated() {
    let seen = Box<[Bool?]>([])
    onThread {
      let loop = RunLoop.current
      let executor = loop.executor
      let note: @Sendable () -> Void = { seen.update { $0.append(executor.isIsolatingCurrentContext()) } }
      var hooks = RunLoop.Source.Hooks()
      hooks.cancel = { _, _ in note() }
      try loop.add(RunLoop.Source(hooks: hooks) { _ in })
      try loop.perform(in: "never", block: {}, onDrop: note)
    }
    XCTAssertEqual(seen.value, [true, true])
  }

  /// A run that a job nests does no job of this executor: those that wait do not keep it.
  func test_RLK_EXEC_6_aNestedRunIsFinishedThoughJobsWaitForItsEnd() {
    onThread {
      let loop = RunLoop.current
      let results = Box<[RunLoop.RunResult?]>([])
      for _ in 1...2 {
        Task(executorPreference: loop.executor) {
          let result = nestedRun(loop)
          results.update { $0.append(result) }
        }
      }
      XCTAssertEqual(try loop.run(), .finished)
      XCTAssertEqual(results.value, [.finished, .finished])
    }
  }

  /// By longjmp: its task never goes on, and all others do.
  func test_RLK_EXEC_19_aJobThatWasLeftHoldsUpNoOther() {
    let ran = Box<[String]>([])
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      abandonTask(on: loop.executor) { test_leave() }
      Task(executorPreference: loop.executor) { ran.update { $0.append("waited") } }
      XCTAssertEqual(test_call_or_leave({ _ in _ = try? RunLoop.current.run(for: .seconds(30)) }, nil), 0)
      Task(executorPreference: loop.executor) { ran.update { $0.append("came later") } }
      XCTAssertEqual(try loop.run(until: ran.value.count == 2, timeout: .seconds(30)), .met)
    }
    XCTAssertEqual(ran.value, ["waited", "came later"])
  }

  /// In a run that the job's nested run has begun, and left: that is over, and the job is not.
  func test_RLK_EXEC_19_aRunThatAJobHasLeftEndsNoJob() {
    let ran = Box<[String]>([])
    onThread {
      let loop = RunLoop.current
      try loop.add(RunLoop.Timer.never())
      Task(executorPreference: loop.executor) {
        leaveNestedRun(loop)
        ran.update { $0.append("began") }
        runOnce(loop)
        ran.update { $0.append("ends") }
      }
      Task(executorPreference: loop.executor) { ran.update { $0.append("other") } }
      XCTAssertEqual(try loop.run(until: ran.value.count == 3, timeout: .seconds(30)), .met)
    }
    XCTAssertEqual(ran.value, ["began", "ends", "other"])
  }

  /// What is found in the loop's modes can be invalidated: the executor's part in them is not.
  func test_RLK_EXEC_12_nobodyFindsWhatRunsTheJobs() {
    onThread {
      let loop = RunLoop.current
      let count = Box(0)
      let executors = [loop.executor, loop.executor(in: .default)]
      let found = loop.items() + loop.items(in: .common)
      XCTAssertEqual(found, [])
      for item in found { item.invalidate() }
      for executor in executors { Task(executorPreference: executor) { count.update { $0 += 1 } } }
      XCTAssertEqual(try loop.run(for: .seconds(5)), .finished)
      XCTAssertEqual(count.value, 2)
    }
  }

  /// Code that belongs to no actor goes on where it is: it is not enqueued anew at each call that might suspend.
  func test_RLK_EXEC_16_aTaskIsOneJobWhileNothingSuspendsIt() {
    onThread {
      let loop = RunLoop.current
      let total = Box(0)
      try loop.add(RunLoop.Observer(.beforeSources) { _, _ in total.update { $0 += 1 } })
      func passes(of body: @escaping @Sendable () async -> Void) throws -> Int {
        let before = total.value
        Task(executorPreference: loop.executor, operation: body)
        XCTAssertEqual(try loop.run(), .finished)
        return total.value - before
      }
      let (elements, source) = AsyncStream.makeStream(of: Int.self)
      for element in 0..<1000 { source.yield(element) }
      source.finish()
      let count = Box(0)
      let manyCalls = try passes { for await _ in elements { count.update { $0 += 1 } } }
      XCTAssertEqual(count.value, 1000)
      XCTAssertEqual(manyCalls, try passes {})
    }
  }
}

private func runOnce(_ loop: RunLoop) { _ = try? loop.run(for: .zero) }

private func leaveNestedRun(_ loop: RunLoop) {
  _ = try? loop.add(RunLoop.Timer(fireDate: .now) { _ in test_leave() })
  _ = test_call_or_leave({ _ in _ = try? RunLoop.current.run(for: .seconds(30)) }, nil)
}

private func nestedRun(_ loop: RunLoop) -> RunLoop.RunResult? { try? loop.run(for: .seconds(5)) }
