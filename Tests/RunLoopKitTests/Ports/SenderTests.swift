import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Who has sent a packet, when the connection was inherited.
final class SenderTests: XCTestCase {
  /// Has a child of this process, which becomes `user` and of `group`, send a packet on the connection.
  private static func sendFromChild(
    _ peer: RawPeer, as user: UInt32?, of group: UInt32? = nil, _ packet: [UInt8] = frame(id: 2),
    _ descriptors: [Int32] = []
  ) -> pid_t {
    let child = test_send_as(
      user ?? .max, group ?? user ?? .max, peer.descriptor, packet, packet.count, descriptors, descriptors.count)
    XCTAssertGreaterThan(child, 0)
    return child
  }

  private func serve(
    _ policy: RunLoop.PeerPolicy, _ body: (RawPeer, Box<[Message]>, Box<[RunLoop.Refusal]>, Gate) throws -> Void
  ) {
    let name = NameFolder.newName()
    onThreadOf {
      let (messages, refusals, came) = (Box<[Message]>([]), Box<[RunLoop.Refusal]>([]), Gate())
      let port = try Port(
        registeredAs: name, accepting: policy, onRefusal: { refusal in refusals.update { $0.append(refusal) } }
      ) { _, message in
        messages.update { $0.append(message) }
        came.open()
      }
      let serving = ServingThread(port)
      let peer = RawPeer(name)
      peer.send(frame(id: 1))
      came.wait()
      XCTAssertEqual(messages.value.last?.sender?.processID, getpid())
      try body(peer, messages, refusals, came)
      serving.stop()
      port.invalidate()
    }
  }

  private func onThreadOf(_ body: () throws -> Void) {
    withoutActuallyEscaping(body) { body in onThread(body) }
  }

  /// Needs root, which can become somebody else.
  func test_RLK_PEER_27_aConnectionThatWasInheritedByAnotherUser_isJudgedByThatUser() throws {
    guard geteuid() == 0 else { try skipCase("another user needs root") }
    serve(.sameUser) { peer, messages, refusals, _ in
      let child = Self.sendFromChild(peer, as: 65534)
      XCTAssertEqual(peer.farewell(), "not allowed for user 65534")
      XCTAssertEqual(messages.value.map(\.id), [1])
      XCTAssertEqual(refusals.value.map(\.reason), ["not allowed for user 65534"])
      XCTAssertEqual(refusals.value.first?.peer?.processID, child)
      XCTAssertEqual(refusals.value.first?.peer?.userID, 65534)
    }
  }

  func test_RLK_PEER_27_aMessageNamesWhoHasSentIt_notWhoHasConnected() {
    let user: UInt32? = geteuid() == 0 ? 65534 : nil
    serve(.anyUser) { peer, messages, _, came in
      let child = Self.sendFromChild(peer, as: user)
      came.wait()
      XCTAssertEqual(messages.value.last?.id, 2)
      XCTAssertEqual(messages.value.last?.sender?.processID, child)
      XCTAssertEqual(messages.value.last?.sender?.userID, user ?? geteuid())
      peer.send(frame(id: 3))
      came.wait()
      XCTAssertEqual(messages.value.last?.sender?.processID, getpid())
    }
  }

  /// Within this process, by each way to send, it is a message of this process.
  func test_RLK_PEER_27_aMessageThatIsSentOn_isTheLastSenders() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      let (loop, seen) = (RunLoop.current, Box<[Message]>([]))
      let message = try Port.connect(to: name).request(Message(id: 1, bytes: "x"))
      XCTAssertEqual(message.sender?.processID, peer.processID)
      let port = Port(queueLimit: 2) { _, message in seen.update { $0.append(message) } }
      try loop.add(port)
      try port.sendRight.send(message)
      try port.sendRight.trySend(message)
      let sent = Gate()
      Task {
        try? await port.sendRight.send(message)  // waits for room
        sent.open()
      }
      yieldUntil(port.mailbox.waitingCount == 1)
      try loop.run(for: .zero)
      sent.wait()
      for _ in 0..<2 { try loop.run(for: .zero) }
      XCTAssertEqual(seen.value.map(\.bytes), ["x", "x", "x"])
      XCTAssertTrue(seen.value.allSatisfy { $0.sender == nil })
      // As an answer, too; and the message itself is as it was.
      let answering = Port(replying: { _, _ in message })
      let serving = ServingThread(answering)
      XCTAssertNil(try answering.sendRight.request(Message()).sender)
      serving.stop()
      XCTAssertEqual(message.sender?.processID, peer.processID)
    }
  }

  /// On a connection that it was given by an introduction. On one that it has inherited it uses up its parent's limit.
  func test_RLK_PEER_22_whatAProcessSends_countsAsItsOwn() {
    for isIntroduced in [true, false] {
      var policy = RunLoop.PeerPolicy.sameUser
      policy.perPeer.rights = 64
      serve(policy) { peer, messages, refusals, came in
        func packet(_ id: UInt32, _ numbers: Range<UInt64>) -> [UInt8] {
          frame(id: id, entries: numbers.map { .right($0) })
        }
        peer.send(packet(2, 1000..<1100))  // all that this process may have
        came.wait()
        var connection = peer
        if isIntroduced {
          var pair: [Int32] = [-1, -1]
          rlc_message_socket_pair(&pair)
          peer.send(frame(kind: RLC_FRAME_INTRODUCE, descriptors: 1), [pair[0]])
          close(pair[0])
          connection = RawPeer(owning: pair[1])
        }
        _ = Self.sendFromChild(connection, as: nil, packet(3, isIntroduced ? 2000..<2100 : 2000..<2060))
        yieldUntil(messages.value.count + refusals.value.count == 3)
        XCTAssertEqual(messages.value.map(\.id), isIntroduced ? [1, 2, 3] : [1, 2])
        XCTAssertEqual(refusals.value.map(\.reason), isIntroduced ? [] : ["too many rights: a peer may have 64"])
      }
    }
  }

  /// The policy gets the same words, and those of who has connected.
  func test_RLK_PEER_27_theGroupIsTheSendersToo() {
    let (judged, group) = (Box<[Message.Sender]>([]), geteuid() == 0 ? 65533 : getgid())
    let policy = RunLoop.PeerPolicy { sender in
      judged.update { $0.append(sender) }
      return true
    }
    serve(policy) { peer, messages, _, came in
      let child = Self.sendFromChild(peer, as: nil, of: group)
      came.wait()
      let sender = Message.Sender(processID: child, userID: getuid(), groupID: group)
      XCTAssertEqual(messages.value.last?.sender, sender)
      XCTAssertEqual(
        judged.value, [Message.Sender(processID: getpid(), userID: geteuid(), groupID: getegid()), sender])
    }
  }

  /// Only its group is another one: the policy may go by that.
  func test_RLK_PEER_28_whoHasChangedItsGroup_isANewSender() throws {
    guard geteuid() == 0 else { try skipCase("another group needs root") }
    let (judged, group) = (Box<[UInt32]>([]), gid_t(65533))
    let policy = RunLoop.PeerPolicy { sender in
      judged.update { $0.append(sender.groupID) }
      return true
    }
    serve(policy) { peer, messages, _, came in
      let packet = frame(id: 2)
      onThread {
        XCTAssertEqual(test_set_group_of_thread(group), 0)
        peer.send(packet)
      }
      came.wait()
      XCTAssertEqual(messages.value.last?.sender?.processID, getpid())
      XCTAssertEqual(messages.value.last?.sender?.groupID, group)
      XCTAssertEqual(judged.value, [getegid(), group])
    }
  }

  func test_RLK_PEER_27_theDescriptorsOfWhoIsNotWelcome_areClosed() {
    let (own, pipe) = (getpid(), Pipe())
    serve(RunLoop.PeerPolicy { $0.processID == own }) { peer, messages, refusals, _ in
      let packet = frame(id: 2, descriptors: 2, entries: [.descriptor, .descriptor])
      let child = Self.sendFromChild(peer, as: nil, packet, [pipe.writing, pipe.writing])
      close(pipe.writing)
      XCTAssertEqual(peer.farewell(), "not allowed for user \(getuid())")
      XCTAssertFalse(pipe.hasWriter)
      XCTAssertEqual(messages.value.map(\.id), [1])
      XCTAssertEqual(refusals.value.map { $0.peer?.processID }, [child])
      XCTAssertEqual(
        refusals.value.map(\.description),
        ["process \(child), user \(getuid()), group \(getgid()): not allowed for user \(getuid())"])
    }
    close(pipe.reading)
  }

  /// Its effective user owns the names, and may connect.
  func test_RLK_PEER_8_aProgramThatSetsItsUser_servesThatOne() throws {
    guard geteuid() == 0 else { try skipCase("another user needs root") }
    inChild { check in
      var template = Array("/tmp/ports-test-XXXXXX".utf8CString)
      check.that(mkdtemp(&template) != nil)
      let base = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      check.equal(chown(base, 65534, 65534), 0)
      setenv("XDG_RUNTIME_DIR", base, 1)
      check.equal(seteuid(65534), 0)
      let (loop, reasons) = (RunLoop.current, Box<[String]>([]))
      let port = try Port(registeredAs: "a", onRefusal: { refusal in reasons.update { $0.append(refusal.reason) } }) {
        _, message in
        check.equal(message.sender?.userID, 65534)
        loop.stop()
      }
      try loop.add(port)
      let client = test_fork()
      if client == 0 {
        guard seteuid(0) == 0, setuid(65534) == 0 else { _exit(3) }
        _exit(thrown { try Port.connect(to: "a").send(Message()) } == nil ? 0 : 4)
      }
      check.equal(try loop.run(for: .seconds(20)), .stopped)
      var status: Int32 = -1
      check.equal(waitpid(client, &status, 0), client)
      check.equal(status, 0)
      check.equal(reasons.value, [])
      port.invalidate()
      check.equal(seteuid(0), 0)
      try FileManager.default.removeItem(atPath: base)
    }
  }

  /// A policy is asked again for each sender that is not the last one, and no more.
  func test_RLK_PEER_28_eachNewSenderIsJudgedOnce() {
    let asked = Box<[Int32]>([])
    let policy = RunLoop.PeerPolicy { sender in
      asked.update { $0.append(sender.processID) }
      return true
    }
    serve(policy) { peer, _, _, came in
      for _ in 0..<3 {
        peer.send(frame(id: 5))
        came.wait()
      }
      let child = Self.sendFromChild(peer, as: nil)
      came.wait()
      for _ in 0..<3 {
        peer.send(frame(id: 5))
        came.wait()
      }
      XCTAssertEqual(asked.value, [getpid(), child, getpid()])
    }
  }
}
