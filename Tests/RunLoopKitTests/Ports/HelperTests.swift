import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import RunLoopTestSupport
import XCTest

import class RunLoopKit.RunLoop

/// Processes that have forked a helper, which runs no other program and outlives them.
final class HelperTests: XCTestCase {
  /// The helper that the owner of the right has forked.
  private func helper(of right: Port.SendRight) throws -> pid_t { pid_t(try right.request(Message(id: 4242)).id) }

  /// A port of this process, whose peers give it rights.
  private final class Owner: Sendable {
    let port: Port
    private let serving: ServingThread
    private let given = Box<Port.SendRight?>(nil)
    private let came = Gate()

    init(_ name: String) throws {
      let (given, came) = (given, came)
      port = try Port(registeredAs: name) { _, message in
        given.value = message.rights.first
        came.open()
      }
      serving = ServingThread(port)
    }

    /// Waits for it.
    func nextRight() throws -> Port.SendRight {
      came.wait()
      defer { given.value = nil }
      return try XCTUnwrap(given.value)
    }

    func end() {
      serving.stop()
      port.invalidate()
    }
  }

  func test_RLK_WIRE_31_aServersHelper_doesNotHideItsEnd() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      let (told, asked) = (Gate(), Gate())
      let right = try Port.connect(to: name)
      let helper = try self.helper(of: right)
      defer { kill(helper, SIGKILL) }
      right.onInvalidation { told.open() }
      let asking = TestThread {
        XCTAssertEqual(thrown { try right.request(Message(id: 4)) }, .portInvalid)
        asked.open()
      }
      _ = try right.request(Message(id: 1))
      peer.kill()
      told.wait()
      asked.wait()
      asking.join()
      XCTAssertFalse(right.isValid)
      XCTAssertEqual(thrown { try right.trySend(Message()) }, .portInvalid)
      XCTAssertEqual(thrown { try Port.connect(to: name) }, .noSuchPort)
      let next = try Port(registeredAs: name) { _, _ in }
      XCTAssertTrue(next.ownsName)
      next.invalidate()
      XCTAssertEqual(kill(helper, 0), 0)
    }
  }

  /// Connections that wait to be accepted are the listener's.
  func test_RLK_WIRE_31_aServerThatAcceptsNothing() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      let first = try Port.connect(to: name)
      let helper = try self.helper(of: first)
      defer { kill(helper, SIGKILL) }
      _ = try first.send(Message(id: 10))  // it stops
      var status: Int32 = 0
      waitpid(peer.processID, &status, WUNTRACED)
      let told = Gate()
      let second = try Port.connect(to: name)
      second.onInvalidation { told.open() }
      peer.kill()
      told.wait()
      XCTAssertFalse(second.isValid)
    }
  }

  func test_RLK_WIRE_31_aClientsHelper_doesNotKeepItsRights() {
    let name = NameFolder.newName()
    onThread {
      let owner = try Owner(name)
      let peer = Peer("hold", name)
      let right = try owner.nextRight()
      let helper = try self.helper(of: right)
      defer { kill(helper, SIGKILL) }
      XCTAssertEqual(owner.port.peerTables.connections, 1)
      peer.kill()
      yieldUntil(owner.port.peerTables.connections == 0)
      XCTAssertFalse(right.isValid)
      XCTAssertEqual(kill(helper, 0), 0)
      owner.end()
    }
  }

  /// Two processes that a third one has introduced to each other; a helper of each has both ends' copies.
  func test_RLK_WIRE_31_anIntroducedConnection() {
    let name = NameFolder.newName()
    let (owner, holder) = (Peer("serve", name), Peer("serve", name + "h"))
    onThread {
      let (first, second) = (try Port.connect(to: name), try Port.connect(to: name + "h"))
      let own = try XCTUnwrap(try first.request(Message(id: 6)).rights.first)
      _ = try second.request(Message(id: 1))
      let before = holder.descriptors
      try second.send(Message(id: 4, [.right(own)]))  // kept
      _ = try second.request(Message(id: 1))
      XCTAssertEqual(holder.descriptors, before + 1)
      let helpers = [try self.helper(of: first), try self.helper(of: second)]
      defer { for helper in helpers { kill(helper, SIGKILL) } }
      owner.kill()
      yieldUntil(!own.isValid)
      try second.send(Message(id: 5))
      _ = try second.request(Message(id: 1))
      XCTAssertEqual(holder.descriptors, before)
      holder.kill()
      yieldUntil(!second.isValid)
    }
  }

  /// The child begins anew: its own ports and connections have the numbers that it has closed.
  func test_RLK_WIRE_32_theChildUsesPortsOfItsOwn() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      let (right, port) = try connected(to: name)
      inChild { check in
        let (again, came) = (try Port.connect(to: name), Box(0))
        check.equal(try again.request(Message(id: 7000)).id, 7000)
        let own = try Port(registeredAs: name + "c") { port, message in
          came.value += 1
          if message.id == 2 { RunLoop.current.stop() }
        }
        try RunLoop.current.add(own)
        let toOwn = try Port.connect(to: name + "c")
        try toOwn.send(Message(id: 1))
        try toOwn.send(Message(id: 2))
        check.equal(try RunLoop.current.run(for: .seconds(20)), .stopped)
        check.equal(came.value, 2)
        check.that(!right.isValid && !port.isValid)
        check.equal(thrown { try Port(registeredAs: name + "p") { _, _ in } }, .nameTaken)
        check.equal(try again.request(Message(id: 7001)).id, 7001)
      }
      XCTAssertEqual(try right.request(Message(id: 1)).id, 1)
      XCTAssertTrue(port.ownsName)
      XCTAssertNil(thrown { try Port.connect(to: name + "p") })
      port.invalidate()
    }
    withExtendedLifetime(peer) {}
  }

  /// A moment is a number of requests. Each round has the same name, and helpers of the owner and of the clients.
  func test_RLK_WIRE_33_killsAtAnyMoment() {
    let name = NameFolder.newName()
    var random = SplitMix(33)
    onThread {
      for _ in 0..<(isSlow ? 5 : 25) {
        let peer = Peer("serve", name)
        let clients = (0..<3).map { _ in TestThread { self.useUntilTheEnd(name) } }
        let right = try Port.connect(to: name)
        let moments = (0..<3).map { _ in Int(random.next() % 40) }
        var helpers: [pid_t] = []
        var ownHelper: Helper?
        for moment in 0...moments[2] {
          if moment == moments[0] { helpers.append(try self.helper(of: right)) }
          if moment == moments[1] { ownHelper = Helper() }
          _ = try right.request(Message(id: 1))
        }
        peer.kill()
        for client in clients { client.join() }
        yieldUntil(!right.isValid)
        XCTAssertEqual(thrown { try Port.connect(to: name) }, .noSuchPort)
        for helper in helpers { kill(helper, SIGKILL) }
        ownHelper?.end()
      }
    }
  }

  /// Requests without a limit of time: each has an answer or an error.
  private func useUntilTheEnd(_ name: String) {
    let shared = Message.Bytes([UInt8](repeating: 1, count: 100_000))
    do {
      while true {
        let right = try Port.connect(to: name)
        for _ in 0..<10 { _ = try right.request(Message(id: 1, bytes: shared)) }
        let own = try right.request(Message(id: 6)).rights[0]
        try right.send(Message(id: 4, [.right(own)]))
        _ = try own.request(Message(id: 1))
        try right.send(Message(id: 5))
      }
    } catch {
      let ends: [RunLoopError] = [.portInvalid, .noReply, .noSuchPort]
      XCTAssertTrue((error as? RunLoopError).map(ends.contains) ?? false, "\(error)")
    }
  }

  /// One thread forks, while others make, receive and close connections: no helper keeps any of them.
  func test_RLK_WIRE_33_forksWhileOtherThreadsConnect() {
    let name = NameFolder.newName()
    let (peer, third) = (Peer("serve", name), Peer("serve", name + "t"))
    onThread {
      func descriptors() throws -> [Int] {
        for end in ["", "t"] { _ = try Port.connect(to: name + end).request(Message(id: 1)) }
        return [peer.descriptors, third.descriptors]
      }
      let (before, isOver) = (try descriptors(), Box(false))
      let first = Helper()  // nobody else is at work
      let clients = (0..<2).map { _ in
        TestThread {
          while !isOver.value {
            XCTAssertNil(thrown { try self.useOnce(name) })
          }
        }
      }
      let helpers = (0..<(isSlow ? 5 : 40)).map { _ in Helper() }
      // A fork waits for the other threads, but not for long: on a loaded machine one may be stopped where it connects.
      XCTAssertLessThanOrEqual(helpers.count { $0.sockets > first.sockets }, max(1, helpers.count / 10))
      isOver.value = true
      for client in clients { client.join() }
      yieldUntil((try? descriptors()) == before)
      for helper in helpers + [first] { helper.end() }
    }
  }

  /// Introduces the two owners to each other, and a port of this process to them.
  private func useOnce(_ name: String) throws {
    let (first, second) = (try Port.connect(to: name), try Port.connect(to: name + "t"))
    let answer = try first.request(Message(id: 1, [.right(second), .descriptor(try .init(duplicating: 0))]))
    _ = try answer.rights[0].request(Message(id: 1))
    try first.send(Message(id: 4, [.right(second)]))
    try first.send(Message(id: 5))
  }

  /// The same of clients: what the owner keeps for them.
  func test_RLK_WIRE_33_clientsThatAreKilled() {
    let name = NameFolder.newName()
    onThread {
      let owner = try Owner(name)
      for round in 0..<(isSlow ? 3 : 15) {
        let peer = Peer("hold", name)
        let right = try owner.nextRight()
        let (helper, own) = (try self.helper(of: right), round % 2 == 0 ? Helper() : nil)
        peer.kill()
        yieldUntil(owner.port.peerTables.connections == 0 && owner.port.peerTables.imports == 0)
        XCTAssertFalse(right.isValid)
        kill(helper, SIGKILL)
        own?.end()
      }
      owner.end()
    }
  }

  // MARK: Limits of files

  func test_RLK_WIRE_34_aMessageBeyondTheLimitOfFiles_isAnError() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      inChild { check in
        var limit = rlimit(rlim_cur: 40960, rlim_max: 40960)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        let large = Message.Bytes([UInt8](repeating: 1, count: 100_000))
        let right = try Port.connect(to: name)
        check.equal(systemError { try right.send(Message(id: 1, bytes: large)) }, EFBIG)
        check.equal(systemError { _ = try right.request(Message(id: 1, bytes: large)) }, EFBIG)
        check.equal(systemError { _ = try Message.Bytes(sharing: 100_000) { $0.count } }, EFBIG)
        check.equal(try right.request(Message(id: 7000)).id, 7000)
      }
    }
    withExtendedLifetime(peer) {}
  }

  // MARK: Descriptors of messages

  /// Lives until it is ended, or a minute.
  final class Helper {
    private let process: pid_t

    /// It has written a "y" to each of the descriptors.
    init(writingTo descriptors: [Message.Descriptor] = []) {
      process = test_helper(descriptors.map(\.fileDescriptor), descriptors.count)
      XCTAssertGreaterThan(process, 0, "the helper has not begun, or has no such descriptors")
    }

    var sockets: Int {
      (0..<512).count { number in
        var text = [CChar](repeating: 0, count: 64)
        return readlink("/proc/\(process)/fd/\(number)", &text, 63) > 0 && strncmp(text, "socket:", 7) == 0
      }
    }

    func end() {
      guard process > 0 else { return }
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
    }
  }

  func test_RLK_MSG_54_aChildKeepsNoDescriptorOfAMessageThatWaits() {
    onThread {
      let (pipe, loop) = (Pipe(), RunLoop.current)
      let port = Port { _, _ in }
      try loop.add(port)
      try port.sendRight.send(Message([.descriptor(try .init(owning: pipe.writing))]))
      let helper = Helper()
      XCTAssertTrue(pipe.hasWriter)
      XCTAssertEqual(try loop.run(for: .seconds(20), returnAfterSourceHandled: true), .handledSource)
      XCTAssertFalse(pipe.hasWriter)
      helper.end()
      close(pipe.reading)
    }
  }

  func test_RLK_MSG_54_aChildKeepsThoseOfAMessageThatWasDelivered() {
    let name = NameFolder.newName()
    onThread {
      for isRemote in [false, true] {
        let (pipe, loop) = (Pipe(), RunLoop.current)
        let helper = Box<Helper?>(nil)
        let receive: @Sendable (Port, Message) -> Void = { port, message in
          helper.value = Helper(writingTo: message.descriptors)
          port.invalidate()
        }
        let port = isRemote ? try Port(registeredAs: name, receive) : Port(receive)
        try loop.add(port)
        let right = isRemote ? try Port.connect(to: name) : port.sendRight
        try right.send(Message([.descriptor(try .init(owning: pipe.writing))]))
        XCTAssertEqual(try loop.run(for: .seconds(20)), .finished)
        XCTAssertEqual(pipe.receive(), "y")
        XCTAssertTrue(pipe.hasWriter)  // the child has it
        helper.value?.end()
        XCTAssertFalse(pipe.hasWriter)
        close(pipe.reading)
      }
    }
  }

  /// Whichever way it has come: out of the line of tasks that wait for room, or as an answer.
  func test_RLK_MSG_54_aChildKeepsThoseFromTheLineAndOfAnswers() {
    onThread {
      let (loop, pipe, isOver) = (RunLoop.current, Pipe(), Box(false))
      @Sendable func sharesWithAChild(_ message: Message) {
        Helper(writingTo: message.descriptors).end()
        XCTAssertEqual(pipe.receive(), "y")
        isOver.value = true
      }
      let port = Port(queueLimit: 1) { _, message in if message.id == 1 { sharesWithAChild(message) } }
      let right = port.sendRight
      try right.send(Message())
      Task.immediate { try await right.send(Message(id: 1, [.descriptor(try .init(duplicating: pipe.writing))])) }
      try loop.add(port)
      try loop.serve { isOver.value }
      let answering = Port(replying: { _, _ in
        (try? Message.Descriptor(duplicating: pipe.writing)).map { Message([.descriptor($0)]) }
      })
      try loop.add(answering)
      sharesWithAChild(try answering.sendRight.request(Message()))
      pipe.closeBoth()
    }
  }

  /// Its numbers are other files' in the child, which releases the port.
  func test_RLK_MSG_54_theChildClosesThemOnce() {
    onThread {
      let pipe = Pipe()
      let held = Box<Port?>(Port { _, _ in })
      try held.value!.sendRight.send(Message([.descriptor(try .init(owning: pipe.writing))]))
      inChild { check in
        check.equal(fcntl(pipe.writing, F_GETFD), -1)
        check.equal(dup2(pipe.reading, pipe.writing), pipe.writing)
        held.value = nil
        check.that(fcntl(pipe.writing, F_GETFD) >= 0)
      }
      held.value = nil
      XCTAssertFalse(pipe.hasWriter)
      close(pipe.reading)
    }
  }
}
