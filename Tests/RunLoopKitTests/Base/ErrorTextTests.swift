import Glibc
import RunLoopEvents
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// What errors say: the descriptor, path or value, and the remedy.
final class ErrorTextTests: XCTestCase {
  private func check(
    _ parts: String..., line: UInt = #line, _ body: () throws -> Void
  ) {
    guard let text = thrown(body)?.description else { return XCTFail("nothing was thrown", line: line) }
    for part in parts { XCTAssertTrue(text.contains(part), "\"\(part)\" is not in \"\(text)\"", line: line) }
  }

  func test_RLK_ERROR_1_descriptors() throws {
    let counter = EventCounter()
    let other = try PortSourceFactory.make(counter) {}
    let file = open("/etc/passwd", O_RDONLY | O_CLOEXEC)
    let folder = open("/", O_RDONLY | O_CLOEXEC)
    let closed = dup(STDERR_FILENO)
    close(closed)
    defer {
      close(file)
      close(folder)
    }
    onThread {
      let loop = RunLoop.current
      func source(_ descriptor: Int32) throws -> RunLoop.FileDescriptorSource {
        try RunLoop.FileDescriptorSource(fileDescriptor: descriptor, interest: .readable) { _, _ in }
      }
      self.check("-1 is no descriptor") { _ = try source(-1) }
      self.check("-7 is no descriptor") { _ = try RunLoop.PortSource(fileDescriptor: -7) { _ in } }
      self.check("fcntl", "descriptor \(closed) is not open") { try loop.add(source(closed)) }
      try loop.add(other)  // the loop's own descriptors may have the closed one's number from now on
      self.check(
        "descriptor \(file) (/etc/passwd) is a regular file, which epoll cannot watch; pass unpollable: .alwaysReady",
        "(epoll_ctl: Operation not permitted)"
      ) { try loop.add(source(file)) }
      self.check("descriptor \(file)", "regular file", "a PortSource takes an eventfd") {
        try loop.add(RunLoop.PortSource(fileDescriptor: file) { _ in })
      }
      self.check("descriptor 999999 is not open") { try loop.add(source(999_999)) }
      self.check("descriptor \(folder) (/) is a folder", "FileWatch") {
        _ = try RunLoop.FileDescriptorSource(
          fileDescriptor: folder, interest: .readable, unpollable: .alwaysReady
        ) { _, _ in }
      }
      self.check("fstat", "descriptor 999999 is not open") {
        _ = try RunLoop.FileDescriptorSource(
          fileDescriptor: 999_999, interest: .readable, unpollable: .alwaysReady
        ) { _, _ in }
      }
      other.invalidate()
    }
  }

  func test_RLK_ERROR_2_descriptorsOfMessages() throws {
    typealias Descriptor = RunLoop.Message.Descriptor
    XCTAssertEqual(
      thrown { try Descriptor(owning: -1) }?.description,
      "-1 is no descriptor; the call that returned it has failed (Bad file descriptor)")
    check("-2 is no descriptor") { _ = try Descriptor(duplicating: -2) }
    check("to duplicate descriptor 999999 (fcntl: Bad file descriptor)") { _ = try Descriptor(duplicating: 999_999) }
    let descriptor = try Descriptor(duplicating: STDERR_FILENO)
    close(try descriptor.take())
    check("taken, or sent, before") { _ = try descriptor.take() }
    check("taken, or sent, before") { _ = try descriptor.duplicate() }
    let port = RunLoop.Port { _, _ in }
    check("component 1: the descriptor was taken") {
      try port.sendRight.trySend(RunLoop.Message([.bytes(RunLoop.Message.Bytes([1])), .descriptor(descriptor)]))
    }
    let twice = try Descriptor(duplicating: STDERR_FILENO)
    check("or is in it twice") {
      try port.sendRight.trySend(RunLoop.Message([.descriptor(twice), .descriptor(twice)]))
    }
  }

  func test_RLK_ERROR_3_signals() throws {
    check("SIGKILL cannot be blocked or received by anybody (Invalid argument)") {  // no call was made
      _ = try RunLoop.SignalSource(.kill) { _, _ in }
    }
    check("SIGSTOP cannot be") { try RunLoop.Signal.block(.init(rawValue: SIGSTOP)) }
    check("99 is no signal: they are 1 to 64") { try RunLoop.Signal.block(.init(rawValue: 99)) }
    check("no signal was named") { _ = try RunLoop.SignalSource([]) { _, _ in } }
    check("signal 32 is the C library's own") { try RunLoop.Signal.block(.init(rawValue: 32)) }
  }

  func test_RLK_ERROR_4_processesAndPaths() throws {
    check("-3 is no process's number") { _ = try RunLoop.ChildSource(processID: -3) { _, _ in } }
    check("there is no process \(Int32.max); if SIGCHLD is ignored, a child is gone as soon as it ends (pidfd_open") {
      _ = try RunLoop.ChildSource(processID: Int32.max) { _, _ in }
    }
    check("/no/such/program (posix_spawnp: No such file or directory)") {
      _ = try RunLoop.ChildSource.spawn("/no/such/program")
    }
    check("/bin/true, or one of its file actions") {
      _ = try RunLoop.ChildSource.spawn("/bin/true", actions: [.changeDirectory("/no/such/folder")])
    }
    check("a string has a zero byte") { _ = try RunLoop.ChildSource.spawn("true", arguments: ["a\0b"]) }
    check("/no/such/file (inotify_add_watch: No such file or directory)") {
      _ = try RunLoop.FileWatch(path: "/no/such/file", events: .changes) { _, _ in }
    }
    check("/tmp: no event to watch for was named") { _ = try RunLoop.FileWatch(path: "/tmp", events: []) { _, _ in } }
    check("/etc/passwd is neither /proc/pressure/memory nor") {
      _ = try RunLoop.MemoryPressure(.some, longerThan: .seconds(1), within: .seconds(2), path: "/etc/passwd") { _, _ in
      }
    }
    check("/none/memory.pressure (open: No such file or directory)") {
      _ = try RunLoop.MemoryPressure(
        .some, longerThan: .seconds(1), within: .seconds(2), path: "/none/memory.pressure"
      ) { _, _ in }
    }
  }

  func test_RLK_ERROR_5_sizesOfStacks() throws {
    for size in [Int.min, -1, 0, 1000, 16384, RunLoop.Thread.minimumStackSize - 1, Int.max] {
      check("stackSize is \(size) bytes") { try RunLoop.Thread(name: "small", stackSize: size).start() }
    }
    check("pthread_create", "thread \"huge\" with a stack of \(1 << 52) bytes") {
      try RunLoop.Thread(name: "huge", stackSize: 1 << 52).start()
    }
  }

  func test_RLK_ERROR_6_whatIsUsedUp() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    XCTAssertEqual(
      RunLoopError.system(EMFILE, call: "timerfd_create").description,
      "this process has as many descriptors as it may; close some, or raise the limit "
        + "(RLIMIT_NOFILE is \(limit.rlim_cur)) (timerfd_create: Too many open files)")
    getrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit)
    let processes = limit.rlim_cur == rlim_t.max ? "unlimited" : "\(limit.rlim_cur)"
    for call in ["pthread_create", "posix_spawnp"] {
      let text = RunLoopError.system(EAGAIN, call: call).description
      XCTAssertTrue(text.contains("(RLIMIT_NPROC is \(processes); "), text)
    }
    XCTAssertEqual(
      RunLoopError.system(EAGAIN, call: "timer_create").description, "timer_create: Resource temporarily unavailable")
    XCTAssertTrue(RunLoopError.system(ENFILE, call: "eventfd").description.contains("fs.file-max"))
    XCTAssertTrue(
      RunLoopError.system(ENOSPC, call: "epoll_ctl").description.contains("fs.epoll.max_user_watches"))
  }

  /// Programs compare by domain and code; the call and the words are for people.
  func test_RLK_ERROR_7_wordsMakeNoDifference() {
    let bare = RunLoopError.system(EPERM, call: "epoll_ctl")
    let told = RunLoopError.system(EPERM, call: "epoll_ctl", "descriptor 7")
    XCTAssertEqual(bare, told)
    XCTAssertEqual(bare.hashValue, told.hashValue)
    XCTAssertEqual(bare, .system(EPERM))
    XCTAssertEqual(bare.description, "epoll_ctl: Operation not permitted")
    XCTAssertEqual(told.description, "descriptor 7 (epoll_ctl: Operation not permitted)")
    XCTAssertEqual(RunLoopError.system(EPERM).description, "Operation not permitted")
  }

  func test_RLK_ERROR_9_domainAndCodeTellErrorsApart() {
    XCTAssertNotEqual(RunLoopError.system(EPERM), .system(EBADF))
    XCTAssertNotEqual(RunLoopError.system(10), .timedOut)
    XCTAssertEqual(RunLoopError.timedOut.code, 10)
    XCTAssertNotEqual(RunLoopError.nameTaken, .wrongThread)
    XCTAssertEqual(RunLoopError.nameTaken.code, RunLoopError.wrongThread.code)
    XCTAssertEqual(Set([RunLoopError.loopEnded, .forked, .loopEnded]).count, 2)
    XCTAssertEqual(RunLoopError.system(EPERM).errno, EPERM)
    XCTAssertNil(RunLoopError.timedOut.errno)
    let own = RunLoopError(RunLoopError.Domain(rawValue: "Kitchen"), code: 7, call: "bake(_:)", "the oven is cold")
    XCTAssertEqual(own.description, "bake(_:): the oven is cold")
    XCTAssertEqual(RunLoopError(own.domain, code: 7).description, "Kitchen 7")
    XCTAssertEqual(own, RunLoopError(own.domain, code: 7))
    XCTAssertNotEqual(own, .busy)
  }

  /// Also of an error with words of its own. The codes are in programs that were compiled.
  func test_RLK_ERROR_9_eachConstantIsAnErrorOfItsOwn() {
    let ofKit: [RunLoopError] = [
      .alreadyStarted, .busy, .commonModeNotRunnable, .forked, .hostedElsewhere, .inSignalHandler, .invalidItem,
      .itemInOtherLoop, .loopEnded, .messageTooLarge, .noReply, .notStarted, .portFull, .portInvalid, .timedOut,
      .tooManyDescriptors, .wouldDeadlock, .wrongThread,
    ]
    let ofPorts: [RunLoopError] = [.nameTaken, .noSuchPort, .badName, .refused]
    XCTAssertEqual(Set(ofKit + ofPorts).count, 22)
    XCTAssertEqual(ofPorts.map(\.code), [1, 2, 3, 4])
    XCTAssertTrue(ofPorts.allSatisfy { $0.domain == .ports } && ofKit.allSatisfy { $0.domain == .runLoop })
    XCTAssertEqual(RunLoopError.refused(reason: "too many"), .refused)
    XCTAssertEqual(RunLoopError.refused(reason: "too many").description, "refused: too many")
  }

  /// A constant is a pattern, for an error of known and of unknown type.
  func test_RLK_ERROR_9_constantsArePatterns() {
    func name(_ body: () throws -> Void) -> String {
      do { try body() } catch RunLoopError.portFull { return "full" } catch RunLoopError.system(EBADF) {
        return "bad"
      } catch {
        return "other"
      }
      return "none"
    }
    XCTAssertEqual(name { throw RunLoopError.portFull("a connection") }, "full")
    XCTAssertEqual(name { throw RunLoopError.system(EBADF, call: "fcntl") }, "bad")
    XCTAssertEqual(name { throw RunLoopError.timedOut }, "other")
    XCTAssertEqual(name { throw CancellationError() }, "other")
    func kind(_ error: RunLoopError) -> Int {
      switch error {
      case .loopEnded: 1
      case .nameTaken: 2
      default: 3
      }
    }
    XCTAssertEqual([.loopEnded, .nameTaken, .badName].map(kind), [1, 2, 3])
  }

  func test_RLK_ERROR_10_portsAndItems() throws {
    let port = RunLoop.Port(queueLimit: 2) { _, _ in }
    for _ in 0..<2 { try port.sendRight.trySend(RunLoop.Message()) }
    XCTAssertEqual(
      thrown { try port.sendRight.trySend(RunLoop.Message()) }?.description,
      "the port is full (2 messages wait); send(_:timeout:) waits for room")
    check("\".x\" is not a port name: 1 to 64 of") { _ = try RunLoop.Port.connect(to: ".x") }
    check("\"a/b\" is not a port name") { _ = try RunLoop.Port(registeredAs: "a/b") { _, _ in } }
    let name = NameFolder.newName()
    check("no port is registered as \"\(name)\" in /") { _ = try RunLoop.Port.connect(to: name) }
    let owner = try RunLoop.Port(registeredAs: name) { _, _ in }
    check("another port is registered as \"\(name)\"") { _ = try RunLoop.Port(registeredAs: name) { _, _ in } }
    owner.invalidate()
    onThread {
      let foreign = Box<RunLoop.Timer?>(nil)
      TestThread {
        RunLoop.current.assumeOnLoop { local in
          foreign.value = try? local.timer(after: .seconds(1)) { _ in }
          foreign.value?.label = "beat"
        }
      }.join()
      self.check("the timer \"beat\" was made with assumeOnLoop of another run loop") {
        try RunLoop.current.add(foreign.value!)
      }
    }
  }

  /// After a stop and a join no loop accepts blocks any more.
  func test_RLK_ERROR_15_aThreadThatHasEnded() throws {
    let thread = RunLoop.Thread(name: "worker")
    try thread.start()
    thread.stop()
    try thread.join()
    for _ in 0..<2 {
      let error = thrown { try thread.perform {} }
      XCTAssertEqual(error, .loopEnded)
      XCTAssertEqual(error?.description, "the thread \"worker\" has ended; make another one")
    }
    XCTAssertEqual(thrown { try thread.loop?.perform {} }?.description, "the run loop's thread has ended")
  }

  /// Its loop has not ended: the block that asks runs on it.
  func test_RLK_ERROR_10_aThreadThatWasToldToStop() throws {
    let thread = RunLoop.Thread(name: "worker")
    try thread.start()
    let text = Box("")
    try thread.perform { [unowned thread] in
      thread.stop()
      text.value = thrown { try thread.perform {} }.map { "\($0 == .loopEnded) \($0)" } ?? ""
      thread.loop?.stop()
    }
    try thread.join()
    XCTAssertEqual(
      text.value, "true the thread \"worker\" is stopping; its loop accepts blocks until the thread ends")
  }
}
