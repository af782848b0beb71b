import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Threads that would take a signal away from its source.
final class SignalMaskTests: XCTestCase {
  /// What `body` makes the process say on standard error.
  private static func said(_ body: () throws -> Void) rethrows -> String {
    let (pipe, old) = (Pipe(), dup(STDERR_FILENO))
    dup2(pipe.writing, STDERR_FILENO)
    defer {
      close(old)
      pipe.closeBoth()
    }
    do { try body() } catch {
      dup2(old, STDERR_FILENO)
      throw error
    }
    dup2(old, STDERR_FILENO)
    return pipe.receive()
  }

  /// In a child that blocks nothing: what the tests' process blocks is inherited.
  private func inCleanChild(line: UInt = #line, _ body: (ChildChecks) throws -> Void) {
    inChild(line: line) { check in
      var none = sigset_t()
      sigemptyset(&none)
      pthread_sigmask(SIG_SETMASK, &none, nil)
      try body(check)
    }
  }

  func test_RLK_SIGNAL_19_aThreadThatDoesNotBlockTheSignal_isToldOfOnce() throws {
    guard test_may_have_threads_after_fork() == 1 else { try skipCase("a forked process may have no threads here") }
    inCleanChild { check in
      try RunLoop.Signal.block(.user2)
      let (loop, isThere, end, number) = (RunLoop.current, Gate(), Gate(), Box(""))
      let thread = TestThread {
        number.value = String(ownThread().split(separator: "/").last!)
        try? "open to signals".write(toFile: "/proc/thread-self/comm", atomically: false, encoding: .utf8)
        isThere.open()
        end.wait()
      }
      isThere.wait()
      let blocked = try RunLoop.SignalSource(.user2) { _, _ in }
      check.equal(try Self.said { try loop.add(blocked) }, "")
      let source = try RunLoop.SignalSource(.user1, .user2, .hangup) { _, _ in }
      let words = try Self.said { try loop.add(source, to: .common) }
      check.that(words.hasPrefix("RunLoopKit: thread \(number.value) (open to signals) "), words)
      check.that(words.contains(" does not block SIGHUP, SIGUSR1: "), words)
      check.that(words.contains("Call RunLoop.Signal.block for them in main"), words)
      check.equal(words.filter { $0 == "\n" }.count, 1)
      // Once for each signal.
      check.equal(try Self.said { try loop.add(RunLoop.SignalSource(.user1) { _, _ in }) }, "")
      let other = try RunLoop.SignalSource(.user1, .terminate) { _, _ in }
      check.equal(try Self.said { try loop.add(other, to: "other") }.contains("block SIGTERM: "), true)
      end.open()
      thread.join()
      check.equal(try Self.said { try loop.add(RunLoop.SignalSource(.quit) { _, _ in }) }, "")
    }
  }

  /// A signal that all threads blocked so far has not been reported yet, although another one was.
  func test_RLK_SIGNAL_19_aLaterThreadIsToldOf() throws {
    guard test_may_have_threads_after_fork() == 1 else { try skipCase("a forked process may have no threads here") }
    inCleanChild { check in
      try RunLoop.Signal.block(.user2)
      let (loop, gates, end) = (RunLoop.current, [Gate(), Gate()], Gate())
      func start(_ isThere: Gate, unblocking: Bool) -> TestThread {
        TestThread {
          var set = sigset_t()
          sigemptyset(&set)
          sigaddset(&set, SIGUSR2)
          if unblocking { pthread_sigmask(SIG_UNBLOCK, &set, nil) }
          isThere.open()
          end.wait()
        }
      }
      let first = start(gates[0], unblocking: false)
      gates[0].wait()
      let both = try RunLoop.SignalSource(.user1, .user2) { _, _ in }
      check.that(try Self.said { try loop.add(both) }.contains(" does not block SIGUSR1: "))
      let second = start(gates[1], unblocking: true)
      gates[1].wait()
      let later = try RunLoop.SignalSource(.user2) { _, _ in }
      check.that(try Self.said { try loop.add(later) }.contains(" does not block SIGUSR2: "))
      check.equal(try Self.said { try loop.add(RunLoop.SignalSource(.user1, .user2) { _, _ in }) }, "")
      for _ in 0..<2 { end.open() }
      first.join()
      second.join()
    }
  }

  func test_RLK_SIGNAL_20_withoutPidfds_theSameForChildren() throws {
    guard test_may_have_threads_after_fork() == 1 else { try skipCase("a forked process may have no threads here") }
    inCleanChild { check in
      let (isThere, end) = (Gate(), Gate())
      let thread = TestThread {
        isThere.open()
        end.wait()
      }
      isThere.wait()
      let child = test_fork()
      if child == 0 { while true { pause() } }
      let byDescriptor = try RunLoop.ChildSource(processID: child) { _, _ in }
      check.equal(try Self.said { try RunLoop.current.add(byDescriptor) }, "")
      RunLoop.forbidProcessDescriptors(true)
      let bySignal = try RunLoop.ChildSource(processID: child) { _, _ in }
      check.that(try Self.said { try RunLoop.current.add(bySignal) }.contains(" does not block SIGCHLD: "))
      kill(child, SIGKILL)
      end.open()
      thread.join()
    }
  }

  /// The thread that waits for the ends of peers is no thread of the program's.
  func test_RLK_SIGNAL_21_theKitsOwnThreadBlocksAll() throws {
    guard test_may_have_threads_after_fork() == 1 else { try skipCase("a forked process may have no threads here") }
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    inCleanChild { check in
      let right = try Port.connect(to: name)
      right.onInvalidation {}
      check.that(threadNames().contains("runloop-ports"), "\(threadNames())")
      let source = try RunLoop.SignalSource(.terminate, .user1) { _, _ in }
      check.equal(try Self.said { try RunLoop.current.add(source) }, "")
      var mask = sigset_t()
      pthread_sigmask(SIG_BLOCK, nil, &mask)
      check.equal(sigismember(&mask, SIGUSR2), 0)  // of the thread that has made it nothing has changed
    }
    withExtendedLifetime(peer) {}
  }
}

private func threadNames() -> [String] {
  guard let folder = opendir("/proc/self/task") else { return [] }
  defer { closedir(folder) }
  var names: [String] = []
  while let entry = readdir(folder) {
    let thread = withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    let file = open("/proc/self/task/\(thread)/comm", O_RDONLY)
    guard file >= 0 else { continue }
    defer { close(file) }
    var text = [UInt8](repeating: 0, count: 64)
    let count = read(file, &text, text.count)
    names.append(String(decoding: text[..<max(count - 1, 0)], as: UTF8.self))
  }
  return names
}
