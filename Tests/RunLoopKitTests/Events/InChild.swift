import CTestSupport
import Glibc
import RunLoopKit
import XCTest

/// Signals belong to a process: these tests run in a child of fork(2) that has one thread, so that no other thread, which
/// does not block them, gets them. What a child finds out is told on its standard error.
func inChild(file: StaticString = #filePath, line: UInt = #line, _ body: (ChildChecks) throws -> Void) {
  let child = test_fork()
  if child == 0 {
    endIfItHangs()
    let checks = ChildChecks()
    do { try body(checks) } catch { checks.fail("threw \(error)", line: line) }
    _exit(checks.failures == 0 ? 0 : 1)
  }
  var status: Int32 = 0
  while waitpid(child, &status, 0) < 0 {}
  XCTAssertEqual(status, 0, "the child failed; what it found stands above", file: file, line: line)
}

/// Whether a child may have mounts that its parent does not see.
func mayHaveOwnMounts() -> Bool {
  let child = test_fork()
  if child == 0 { _exit(test_own_mounts() + test_mount("/run") == 2 ? 0 : 1) }
  var status: Int32 = 0
  while waitpid(child, &status, 0) < 0 {}
  return status == 0
}

/// For the process of one test: a hang ends that process, not all tests.
func endIfItHangs() { alarm(isSlow ? 600 : 60) }

/// The body can open so many descriptors, and no more. For the process of one test.
func withDescriptors<R>(_ count: Int, _ body: () throws -> R) rethrows -> R {
  var (usual, few) = (rlimit(), rlimit())
  getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &usual)
  let numbers = (0...count).map { _ in dup(0) }  // the lowest that are free, the last of them beyond the limit
  for number in numbers { close(number) }
  few = usual
  few.rlim_cur = rlim_t(numbers[count])
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &few)
  defer { setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &usual) }
  return try body()
}

final class ChildChecks: @unchecked Sendable {
  private(set) var failures = 0

  func fail(_ text: String, line: UInt) {
    failures += 1
    let text = "line \(line): \(text)\n"
    _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
  }

  func equal<Value: Equatable>(_ value: Value, _ expected: Value, line: UInt = #line) {
    if value != expected { fail("\(value) is not \(expected)", line: line) }
  }

  func that(_ condition: Bool, _ text: String = "not true", line: UInt = #line) {
    if !condition { fail(text, line: line) }
  }
}

/// A case that this machine cannot show is left out, said and counted.
func skipCase(_ reason: String, file: StaticString = #filePath) throws -> Never {
  print("SKIPPED 1: \(reason)")
  throw XCTSkip(reason)
}

/// Of this process. Nothing if it was waited for.
func endChild(_ child: Int32) {
  guard waitpid(child, nil, WNOHANG) == 0 else { return }
  kill(child, SIGKILL)
  waitpid(child, nil, 0)
}

/// The error number of the refused system call; 0 if nothing was thrown.
func systemError(_ body: () throws -> Void) -> Int32 {
  do { try body() } catch { return (error as? RunLoopError)?.errno ?? -1 }
  return 0
}
