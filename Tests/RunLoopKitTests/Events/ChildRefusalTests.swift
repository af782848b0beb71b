import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Child sources that do not come about.
final class ChildRefusalTests: XCTestCase {
  /// Of a process that has no child: the number that the next descriptor gets, and whether SIGCHLD is blocked.
  private static func traces() -> [Int32] {
    let next = dup(STDERR_FILENO)
    close(next)
    var mask = sigset_t()
    pthread_sigmask(SIG_BLOCK, nil, &mask)
    return [next, sigismember(&mask, SIGCHLD)]
  }

  /// SIGCHLD is not blocked, and sources of children need it.
  private static func unblockWithoutProcessDescriptors() {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGCHLD)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
    RunLoop.forbidProcessDescriptors(true)
  }

  /// Without pidfds. What is refused: the number, and the process.
  func test_RLK_EVENT_8_aRefusedSourceGivesTheMaskBack() {
    inChild { check in
      Self.unblockWithoutProcessDescriptors()
      let before = Self.traces()
      check.equal(before[1], 0)
      func refused(_ processID: Int32) -> Int32 {
        systemError { _ = try RunLoop.ChildSource(processID: processID) { _, _ in } }
      }
      for (processID, error) in [(-1, EINVAL), (0, EINVAL), (getppid(), ECHILD), (getpid(), ECHILD)] {
        check.equal(refused(processID), error)
        check.equal(Self.traces(), before)
      }
    }
  }

  /// Nor is there a /proc that would tell of the process.
  func test_RLK_EVENT_8_aSourceThatIsRefusedForWantOfProcGivesTheMaskBack() throws {
    guard mayHaveOwnMounts() else { try skipCase("mounts need privileges") }
    inChild { check in
      Self.unblockWithoutProcessDescriptors()
      let (before, child) = (Self.traces(), test_fork())
      if child == 0 {
        endIfItHangs()
        while true { pause() }
      }
      check.equal(test_own_mounts() + test_mount("/proc"), 2)
      check.equal(systemError { _ = try RunLoop.ChildSource(processID: child) { _, _ in } }, ENOENT)
      check.equal(Self.traces(), before)
      kill(child, SIGKILL)
      check.equal(waitpid(child, nil, 0), child)
    }
  }
}
