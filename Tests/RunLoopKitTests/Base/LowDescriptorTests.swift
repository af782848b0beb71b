import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// A process that was started without standard descriptors.
final class LowDescriptorTests: XCTestCase {
  private typealias Port = RunLoop.Port
  private typealias Message = RunLoop.Message

  /// In a child whose standard descriptors are closed while `body` runs, and which uses none of their numbers after it.
  private func withoutStandardDescriptors(line: UInt = #line, _ body: (ChildChecks) throws -> Void) {
    inChild(line: line) { check in
      let saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 200)
      for number in Int32(0)...2 { close(number) }
      var failure: (any Error)?
      do { try body(check) } catch { failure = error }
      let open = (Int32(0)...2).filter { fcntl($0, F_GETFD) >= 0 }
      dup2(saved, STDERR_FILENO)
      check.equal(open, [], line: line)
      if let failure { throw failure }
    }
  }

  func test_RLK_KERNEL_9_loopsTakeNoNumberOfAStandardDescriptor() {
    withoutStandardDescriptors { check in
      let (loop, fired) = (RunLoop.current, Box(0))
      try loop.add(RunLoop.Timer(after: .milliseconds(1)) { _ in fired.value += 1 })
      try loop.add(RunLoop.Timer(after: .milliseconds(1), on: .wall) { _ in fired.value += 1 })
      try loop.perform { fired.value += 1 }
      _ = try loop.hostDescriptor(in: "hosted")
      while fired.value < 3 { try loop.run(for: .milliseconds(20)) }
      let always = open("/etc/passwd", O_RDONLY | O_CLOEXEC)
      let high = fcntl(always, F_DUPFD_CLOEXEC, 50)
      close(always)
      try loop.add(
        RunLoop.FileDescriptorSource(fileDescriptor: high, interest: .readable, unpollable: .alwaysReady) { _, _ in })
      try loop.run(for: .milliseconds(1))
      guard test_may_have_threads_after_fork() != 0 else { return }
      let thread = RunLoop.Thread(name: "low")
      try thread.start()
      try thread.loop!.performAndWait { fired.value += 1 }
      check.equal(fired.value, 4)
    }
  }

  func test_RLK_KERNEL_9_eventsTakeNoNumberOfAStandardDescriptor() {
    withoutStandardDescriptors { check in
      try RunLoop.Signal.block(.child, .user1)
      let (loop, seen) = (RunLoop.current, Box<[String]>([]))
      try loop.add(RunLoop.SignalSource(.user1) { _, _ in seen.update { $0.append("signal") } })
      for forbids in [false, true] {
        RunLoop.forbidProcessDescriptors(forbids)
        let process = try RunLoop.ChildSource.spawn("/bin/sh", arguments: ["-c", "exit 3"])
        let source = try RunLoop.ChildSource(processID: process) { _, status in seen.update { $0.append("\(status)") } }
        try loop.add(source)
      }
      let watch = try RunLoop.FileWatch(path: "/tmp", events: [.created]) { _, _ in }
      try loop.add(watch)
      _ = try? RunLoop.MemoryPressure(.some, longerThan: .milliseconds(100), within: .seconds(2)) { _, _ in }
      kill(getpid(), SIGUSR1)
      while seen.value.count < 3 { try loop.run(for: .milliseconds(20)) }
      check.equal(seen.value.filter { $0 == "signal" }.count, 1)
    }
  }

  func test_RLK_KERNEL_9_portsTakeNoNumberOfAStandardDescriptor() {
    let name = NameFolder.newName()
    withoutStandardDescriptors { check in
      let (loop, numbers) = (RunLoop.current, Box<[Int32]>([]))
      @Sendable func note(_ message: borrowing Message) {
        let found = message.descriptors.map(\.fileDescriptor)
        numbers.update { $0 += found }
      }
      let port = try Port(registeredAs: name) { _, message in
        note(message)
        try? message.reply?.send(message)
      }
      try loop.add(port)
      guard test_may_have_threads_after_fork() != 0 else { return }
      let thread = RunLoop.Thread(name: "client")
      try thread.start()
      let isDone = Box(false)
      try thread.loop!.perform {
        let counter = RunLoop.Message.Bytes([UInt8](repeating: 7, count: 1 << 20))
        let made = fcntl(200, F_DUPFD_CLOEXEC, 60)
        if let right = try? Port.connect(to: name), let descriptor = try? Message.Descriptor(owning: made),
          let second = try? descriptor.duplicate()
        {
          let components: [Message.Component] = [.bytes(counter), .descriptor(descriptor), .descriptor(second)]
          if let answer = try? right.request(Message(id: 1, components)) { note(answer) }
        }
        isDone.value = true
        loop.stop()
      }
      while !isDone.value { try loop.run(for: .milliseconds(100)) }
      check.equal(numbers.value.count, 4)
      check.that(numbers.value.allSatisfy { $0 > 2 }, "\(numbers.value)")
      port.invalidate()
    }
  }

  /// As daemons do: what the program puts at these numbers is no harm to the loop.
  func test_RLK_KERNEL_9_whatIsPutThereLater_isNoHarm() {
    inChild { check in
      let (saved, loop, fired) = (fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 200), RunLoop.current, Box(0))
      for number in Int32(0)...2 { close(number) }
      try loop.add(RunLoop.Timer(after: .milliseconds(1), interval: .milliseconds(1)) { _ in fired.value += 1 })
      try loop.run(for: .milliseconds(5))
      let null = open("/dev/null", O_RDWR)
      for number in Int32(0)...2 { dup2(null, number) }
      fired.value = 0
      while fired.value < 10 { try loop.run(for: .milliseconds(100)) }
      dup2(saved, STDERR_FILENO)
      check.equal(null, 0)
    }
  }

  /// The child gets the standard descriptors that are asked for, though its parent has none.
  func test_RLK_KERNEL_9_aChildOfSuchAProcess_getsWhatItsActionsSay() {
    withoutStandardDescriptors { check in
      var ends: [Int32] = [-1, -1]
      check.equal(pipe(&ends), 0)
      let (reading, writing) = (fcntl(ends[0], F_DUPFD_CLOEXEC, 70), fcntl(ends[1], F_DUPFD_CLOEXEC, 70))
      for end in ends { close(end) }
      let process = try RunLoop.ChildSource.spawn(
        "/bin/sh", arguments: ["-c", "read line; echo said; echo told >&2; test -z \"$line\""],
        actions: [
          .open(path: "/dev/null", flags: O_RDONLY, as: 0), .duplicate(writing, as: 1), .duplicate(writing, as: 2),
        ])
      close(writing)
      var (text, status) = ("", Int32(0))
      var chunk = [UInt8](repeating: 0, count: 100)
      while case let count = read(reading, &chunk, chunk.count), count > 0 {
        text += String(decoding: chunk[..<count], as: UTF8.self)
      }
      check.equal(waitpid(process, &status, 0), process)
      check.equal(status, 0)
      check.equal(text, "said\ntold\n")
    }
  }
}

/// Lines that RunLoopKit writes itself.
final class StandardErrorTests: XCTestCase {
  func test_RLK_DIAG_6_aLineWithoutAReaderIsNoEnd() {
    inChild { check in
      var ends: [Int32] = [-1, -1]
      check.equal(pipe(&ends), 0)
      let saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
      dup2(ends[1], STDERR_FILENO)
      for end in ends { close(end) }
      signal(SIGPIPE, SIG_DFL)
      RunLoop.diagnostics.level = .hint
      check.equal(try RunLoop.current.run(in: "a mode that nobody knows"), .finished)
      check.equal(try RunLoop.current.run(in: .common), .finished)
      StandardError.write("two numbers: ", 1, " and ", 2, "\n")
      dup2(saved, STDERR_FILENO)
      var pending = sigset_t()
      sigpending(&pending)
      check.equal(sigismember(&pending, SIGPIPE), 0)
    }
  }
}
