import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import RunLoopPorts

import class RunLoopKit.RunLoop

/// What a program does with the library. Each begins with nothing and takes everything back.
struct Operation: @unchecked Sendable {
  let name: String
  /// What fails is not thrown: the library reports it in words of its own.
  var isReported = false
  let body: (Trial) throws -> Void

  init(_ name: String, isReported: Bool = false, _ body: @escaping (Trial) throws -> Void) {
    (self.name, self.isReported, self.body) = (name, isReported, body)
  }

  /// The report says why, among other words.
  func reports(_ cause: String, in text: String) -> Bool {
    isReported && (text.contains(cause) || text == "no descriptors are left here")
  }

  static var all: [Operation] { items + threads + events + names + messages }
}

/// What was reported and not thrown.
struct Reported: Error, CustomStringConvertible {
  let description: String
}

// MARK: Items of a loop

extension Operation {
  private typealias DescriptorSource = RunLoop.FileDescriptorSource

  private static func add(_ trial: Trial, _ item: RunLoop.Item) throws {
    defer { item.invalidate() }
    try trial.during { _ = try RunLoop.current.add(item) }
  }

  static let items = [
    Operation("add a timer") { try add($0, RunLoop.Timer(fireDate: .distantFuture) { _ in }) },
    Operation("add a timer of the wall clock") {
      try add($0, RunLoop.Timer(fireDate: RunLoop.WallInstant.distantFuture) { _ in })
    },
    Operation("add a timer of the continuous clock") {
      try add($0, RunLoop.Timer(fireDate: RunLoop.ContinuousInstant.distantFuture) { _ in })
    },
    Operation("add a source") { try add($0, RunLoop.Source { _ in }) },
    Operation("add an observer") { try add($0, RunLoop.Observer(.all) { _, _ in }) },
    Operation("add a port") { try add($0, RunLoop.Port { _, _ in }) },
    Operation("add a source of a counter") { trial in
      let counter = test_eventfd(0)
      defer { close(counter) }
      try add(trial, RunLoop.PortSource(fileDescriptor: counter) { _ in })
    },
    Operation("add a source of a descriptor") { trial in
      try withPipe { reading, _ in
        try add(trial, DescriptorSource(fileDescriptor: reading, interest: .readable) { _, _ in })
      }
    },
    Operation("add a source of a regular file") { trial in
      let file = open("/etc/passwd", O_RDONLY | O_CLOEXEC)
      defer { close(file) }
      let source = try trial.during {
        try DescriptorSource(fileDescriptor: file, interest: .readable, unpollable: .alwaysReady) { _, _ in }
      }
      defer { source.invalidate() }
      _ = try RunLoop.current.add(source)
    },
    Operation("set the interest of a source") { trial in
      try withPipe { reading, _ in
        let source = try DescriptorSource(fileDescriptor: reading, interest: .readable) { _, _ in }
        defer { source.invalidate() }
        _ = try RunLoop.current.add(source)
        try trial.during { try source.setInterest(.writable) }
      }
    },
    Operation("run") { trial in
      try withReadyStop { stop in
        try trial.during {
          _ = try RunLoop.current.add(stop)
          _ = try RunLoop.current.run()
        }
      }
    },
    Operation("host a loop") { trial in
      let timer = RunLoop.Timer(fireDate: .now) { _ in }
      defer { timer.invalidate() }
      let loop = RunLoop.current
      try trial.during {
        _ = try loop.add(timer)
        _ = try loop.hostDescriptor()
        while timer.isValid {
          _ = try loop.prepareToWait()
          _ = try loop.runPendingWork()
        }
      }
    },
    Operation("perform after a delay") { trial in
      try withReadyStop { stop in
        try trial.during {
          _ = try RunLoop.current.perform(after: .seconds(3600)) {}
          _ = try RunLoop.current.add(stop)
          _ = try RunLoop.current.run()
        }
      }
    },
  ]

  private static func withPipe(_ body: (Int32, Int32) throws -> Void) throws {
    var ends: [Int32] = [-1, -1]
    precondition(test_pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    try body(ends[0], ends[1])
  }

  /// A source that stops the loop. Only the kernel tells that it is ready, so a run waits for it at least once.
  private static func withReadyStop(_ body: (DescriptorSource) throws -> Void) throws {
    try withPipe { reading, writing in
      precondition(write(writing, "x", 1) == 1)
      let source = try DescriptorSource(fileDescriptor: reading, interest: .readable) { _, _ in
        RunLoop.current.stop()
      }
      defer { source.invalidate() }
      try body(source)
    }
  }
}

// MARK: Threads

extension Operation {
  static let threads = [
    Operation("start a thread") { trial in
      let thread = RunLoop.Thread(name: "worker")
      try trial.during { try thread.start() }
      thread.stop(.now)
      try thread.join()
    },
    Operation("start a thread with a stack") { trial in
      let thread = RunLoop.Thread(name: "worker", stackSize: 1 << 20)
      try trial.during { try thread.start() }
      thread.stop(.now)
      try thread.join()
    },
    Operation("perform and wait") { trial in
      let thread = RunLoop.Thread(name: "worker")
      try thread.start()
      defer {
        thread.stop(.now)
        try? thread.join()
      }
      try trial.during { try thread.loop!.performAndWait { _ = RunLoop.current } }
    },
  ]
}

// MARK: RunLoopEvents

extension Operation {
  private typealias ChildSource = RunLoop.ChildSource

  private static func source<S: RunLoop.EventSource>(_ trial: Trial, _ make: () throws -> S) throws {
    let source = try trial.during {
      let source = try make()
      do {
        _ = try RunLoop.current.add(source)
      } catch {
        source.invalidate()
        throw error
      }
      return source
    }
    source.invalidate()
  }

  /// A child that ends when the pipe does.
  private static func withChild(_ body: (Int32) throws -> Void) throws {
    let child = try ChildSource.spawn("sleep", arguments: ["60"])
    defer {
      kill(child, SIGKILL)
      waitpid(child, nil, 0)
    }
    try body(child)
  }

  private static func spawn(_ trial: Trial, _ actions: [ChildSource.FileAction]) throws {
    let child = try trial.during { try ChildSource.spawn("true", actions: actions) }
    waitpid(child, nil, 0)
  }

  static let events = [
    Operation("receive signals") { trial in try source(trial) { try RunLoop.SignalSource(.user1) { _, _ in } } },
    Operation("block signals") { trial in try trial.during { try RunLoop.Signal.block(.user1) } },
    Operation("spawn a child") { try spawn($0, []) },
    Operation("spawn a child with actions") {
      try spawn(
        $0,
        [.open(path: "/dev/null", flags: O_WRONLY, as: 1), .duplicate(1, as: 2), .close(0), .changeDirectory("/")])
    },
    Operation("wait for a child") { trial in
      try withChild { child in try source(trial) { try ChildSource(processID: child) { _, _ in } } }
    },
    Operation("wait for a child without pidfds") { trial in
      RunLoop.forbidProcessDescriptors(true)
      defer { RunLoop.forbidProcessDescriptors(false) }
      try withChild { child in try source(trial) { try ChildSource(processID: child) { _, _ in } } }
    },
    Operation("send a child a signal") { trial in
      try withChild { child in
        let source = try ChildSource(processID: child) { _, _ in }
        defer { source.invalidate() }
        try trial.during { try source.send(.user2) }
      }
    },
    Operation("send a child a signal without pidfds") { trial in
      RunLoop.forbidProcessDescriptors(true)
      defer { RunLoop.forbidProcessDescriptors(false) }
      try withChild { child in
        let source = try ChildSource(processID: child) { _, _ in }
        defer { source.invalidate() }
        try trial.during { try source.send(.continue) }
      }
    },
    Operation("watch a file") { trial in
      try source(trial) { try RunLoop.FileWatch(path: trial.folder, events: .changes) { _, _ in } }
    },
    Operation("watch the memory pressure") { trial in
      try source(trial) {
        try RunLoop.MemoryPressure(.some, longerThan: .seconds(1), within: .seconds(2)) { _, _ in }
      }
    },
  ]
}

// MARK: RunLoopPorts: names

extension Operation {
  private static func port(_ name: String = "owner") throws -> RunLoop.Port {
    try RunLoop.Port(registeredAs: name) { _, _ in }
  }

  static let names = [
    Operation("register a port") { trial in
      let port = try trial.during { try Self.port() }
      port.invalidate()
    },
    Operation("register a port whose owner has died") { trial in
      // Its lock file has the size of one with an owner.
      let folder = trial.folder + "/runloopkit"
      mkdir(folder, 0o700)
      let lock = open(folder + "/owner.lock", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
      _ = write(lock, "x", 1)
      close(lock)
      let port = try trial.during { try Self.port() }
      port.invalidate()
    },
    Operation("add a port with a name") { trial in
      let port = try port()
      defer { port.invalidate() }
      try trial.during { _ = try RunLoop.current.add(port) }
    },
    Operation("observe the loss of a name") { trial in
      let port = try port()
      defer { port.invalidate() }
      _ = try RunLoop.current.add(port)
      try trial.during { try port.onNameLoss { _ in } }
    },
    Operation("connect to a port") { trial in
      let port = try port()
      defer { port.invalidate() }
      _ = try trial.during { try RunLoop.Port.connect(to: "owner") }
    },
    Operation("accept a connection", isReported: true) { try accept($0) },
  ]

  /// A message that arrives, or what the port reports instead.
  private static func accept(_ trial: Trial) throws {
    let loop = RunLoop.current
    nonisolated(unsafe) var (hasCome, reason) = (false, String?.none)
    let port = try RunLoop.Port(
      registeredAs: "owner",
      onRefusal: { refusal in
        reason = refusal.reason
        loop.stop()
      },
      { _, _ in
        hasCome = true
        loop.stop()
      })
    defer { port.invalidate() }
    _ = try loop.add(port)
    let right = try RunLoop.Port.connect(to: "owner")
    try right.send(RunLoop.Message(id: 1))
    try trial.during {
      let end = RunLoop.Instant.now.advanced(by: .seconds(2))
      while !hasCome, reason == nil, right.isValid, RunLoop.Instant.now < end { _ = try loop.run(until: end) }
    }
    if let reason { throw Reported(description: reason) }
    if !hasCome {
      try right.send(RunLoop.Message())
      throw Reported(description: "NOTHING")
    }
  }
}

// MARK: RunLoopPorts: messages

extension Operation {
  private static func send(_ trial: Trial, _ message: () throws -> RunLoop.Message) throws {
    let port = try port()
    defer { port.invalidate() }
    let right = try RunLoop.Port.connect(to: "owner")
    let message = try message()
    try trial.during { try right.send(message, timeout: .seconds(2)) }
  }

  static let messages = [
    Operation("send bytes") { trial in
      try send(trial) { RunLoop.Message([.bytes(RunLoop.Message.Bytes([1]))]) }
    },
    Operation("send a large payload") { trial in
      try send(trial) {
        RunLoop.Message([.bytes(RunLoop.Message.Bytes([UInt8](repeating: 1, count: 200_000)))])
      }
    },
    Operation("send a descriptor") { trial in
      try send(trial) {
        RunLoop.Message([.descriptor(try RunLoop.Message.Descriptor(duplicating: STDERR_FILENO))])
      }
    },
    Operation("send a right to a port of this process") { trial in
      let port = RunLoop.Port { _, _ in }
      defer { port.invalidate() }
      try send(trial) { RunLoop.Message([.right(port.sendRight)]) }
    },
    Operation("send a right to a port of a third process") { trial in
      let third = try port("third")
      defer { third.invalidate() }
      let right = try RunLoop.Port.connect(to: "third")
      try send(trial) { RunLoop.Message([.right(right)]) }
    },
    // By a thread of the library's own, as no loop of the program serves it; it says on standard error what it cannot do.
    Operation("observe the end of a right", isReported: true) { trial in
      let port = try port()
      defer { port.invalidate() }
      let right = try RunLoop.Port.connect(to: "owner")
      let observation = trial.during { right.onInvalidation {} }
      withExtendedLifetime(observation) {}
      if let words = trial.said { throw Reported(description: words) }
    },
    Operation("duplicate a descriptor") { trial in
      _ = try trial.during { try RunLoop.Message.Descriptor(duplicating: STDERR_FILENO) }
    },
    Operation("make bytes that processes share") { trial in
      _ = try trial.during {
        try RunLoop.Message.Bytes(sharing: 100_000) { memory in
          memory.initializeMemory(as: UInt8.self, repeating: 1)
          return 50_000
        }
      }
    },
  ]
}
