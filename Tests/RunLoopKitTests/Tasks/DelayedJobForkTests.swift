import CTestSupport
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Jobs that wait, in a child of fork(2).
final class DelayedJobForkTests: XCTestCase {
  /// A hook forks while the loop of a job ends. The child goes on with that end, which lets go of the job as well.
  func test_RLK_EXEC_20_aChildRunsNoJobThatWaitsInItsParent() async throws {
    guard test_may_have_threads_after_fork() == 1 else { try skipCase("a forked process may have no threads here") }
    let (child, ran) = (Box<pid_t>(-1), Box(0))
    let (waiting, kept) = (Box<Task<Void, Never>?>(nil), Box<Delayer?>(nil))
    try onOwnThread { loop in
      let delayer = Delayer(loop.executor(in: "never"), after: .nanoseconds(1), by: loop.clock)
      kept.value = delayer
      waiting.value = Task(executorPreference: delayer) { ran.value += 1 }
      var hooks = RunLoop.Source.Hooks()
      hooks.cancel = { loop, _ in
        child.value = test_fork()
        if child.value == 0 { Self.behindTheLoop { Self.endChild(loop.executor, ran) } }
      }
      try loop.add(RunLoop.Source(hooks: hooks) { _ in })
    }
    var status: Int32 = -1
    XCTAssertEqual(waitpid(child.value, &status, 0), child.value)
    XCTAssertEqual(status, 0)
    await waiting.value?.value
    XCTAssertEqual(ran.value, 1)
    kept.value = nil
  }

  /// A job forks on the thread that runs the jobs of ended loops.
  func test_RLK_EXEC_20_norTheJobsThatWaitForTheSameThread() async throws {
    let ended = Box<RunLoop?>(nil)
    try onOwnThread { ended.value = $0 }
    let executor = try XCTUnwrap(ended.value).executor
    let (child, ran) = (Box<pid_t>(-1), Box(0))
    await Self.fork(in: executor, child, ran).value
    var status: Int32 = -1
    XCTAssertEqual(waitpid(child.value, &status, 0), child.value)
    XCTAssertEqual(status, 0)
  }

  /// What is answered waits behind the job that forks.
  private static func fork(in executor: RunLoop.Executor, _ child: Box<pid_t>, _ ran: Box<Int>) -> Task<Void, Never> {
    let (isHeld, goOn, hasForked) = (Gate(), Gate(), Gate())
    Task(executorPreference: executor) {
      isHeld.open()
      goOn.wait()
    }
    isHeld.wait()
    Task(executorPreference: executor) {
      child.value = test_fork()
      if child.value == 0 { behindTheLoop { _exit(ran.value == 0 ? 0 : 1) } }
      hasForked.open()
    }
    let waiting = Task(executorPreference: executor) { ran.value += 1 }
    goOn.open()
    hasForked.wait()
    return waiting
  }

  /// A destructor of thread-specific data, which comes when the end of the loop is over.
  private static func behindTheLoop(_ body: @escaping @Sendable () -> Void) {
    var key = pthread_key_t()
    pthread_key_create(&key) { token in Unmanaged<Token>.fromOpaque(token!).release() }
    pthread_setspecific(key, Unmanaged.passRetained(Token(body)).toOpaque())
  }

  /// Behind all jobs that run in the child: a task that prefers another executor takes two turns for its job.
  private static func endChild(_ executor: RunLoop.Executor, _ ran: Box<Int>) {
    alarm(60)
    Task(executorPreference: executor) {
      Task(executorPreference: executor) { _exit(ran.value == 0 ? 0 : 1) }
    }
    while true { pause() }
  }
}
