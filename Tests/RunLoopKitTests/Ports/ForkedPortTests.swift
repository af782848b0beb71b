import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// What a child of fork(2) has of its parent's names, and of what peers have sent to its parent.
final class ForkedPortTests: XCTestCase {
  /// It was the parent's at the fork.
  func test_RLK_WIRE_32_aNameThatTheParentHasGivenUp_mayBeTheChilds() {
    let name = NameFolder.newName()
    onThread {
      let (port, isTried, isFree) = (try Port(registeredAs: name) { _, _ in }, Pipe(), Pipe())
      let child = test_fork()
      if child == 0 {
        endIfItHangs()
        let error = thrown { try Port(registeredAs: name) { _, _ in } }
        isTried.send("x")
        _ = isReadable(isFree.reading, 20_000)
        let own = try? Port(registeredAs: name) { _, _ in }
        _exit(error == .nameTaken && own?.ownsName == true ? 0 : 1)
      }
      XCTAssertTrue(isReadable(isTried.reading, 20_000))
      port.invalidate()
      isFree.send("x")
      var status: Int32 = -1
      waitpid(child, &status, 0)
      XCTAssertEqual(status, 0)
      XCTAssertNil(thrown { try Port(registeredAs: name) { _, _ in }.invalidate() })  // the child was its last owner
      for pipe in [isTried, isFree] { pipe.closeBoth() }
    }
  }

  /// A port of this thread's loop, and its peer. It has room for one message.
  private final class Waiting {
    let (pipe, loop, second) = (Pipe(), RunLoop.current, Port { _, _ in })
    let port: Port
    private let peer: RawPeer

    /// Descriptors of the pipe have come in one message, which is in the queue of the port, or behind it if that is
    /// full: the mode that has run is another port's of the connection.
    init(
      isFull: Bool, descriptors count: Int = 2,
      _ receive: @escaping @Sendable (Message, Pipe) -> Void = { _, _ in }
    ) throws {
      let (name, pipe, second) = (NameFolder.newName(), pipe, second)
      port = try Port(
        registeredAs: name, queueLimit: 1,
        replying: { _, message in
          receive(message, pipe)
          return Message([.right(second.sendRight)])
        })
      try loop.add(port)
      try loop.add(second, to: "second")
      peer = RawPeer(name)
      peer.send(frame(entries: [.right(5, flags: UInt8(RLC_FRAME_ONCE) | UInt8(RLC_FRAME_REPLY))]))
      try peer.awaitNews(serving: loop)
      if isFull { peer.send(frame()) }
      peer.send(
        frame(descriptors: count, entries: Array(repeating: .descriptor, count: count)),
        Array(repeating: pipe.writing, count: count))
      close(pipe.writing)
      for _ in 0..<3 { _ = try loop.run(in: "second", for: .zero) }
      XCTAssertEqual(port.pendingCount, 1)
    }

    func end() {
      port.invalidate()
      second.invalidate()
      close(pipe.reading)
    }
  }

  func test_RLK_MSG_54_aChildKeepsNoDescriptorOfAPeersMessageThatWaits() {
    onThread {
      for (isFull, count) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
        let waiting = try Waiting(isFull: isFull, descriptors: count)
        let helper = HelperTests.Helper()
        XCTAssertTrue(waiting.pipe.hasWriter)
        waiting.port.invalidate()  // what waits is thrown away
        XCTAssertFalse(waiting.pipe.hasWriter)
        helper.end()
        waiting.end()
      }
    }
  }

  /// They count until then, and a child keeps them from then on.
  func test_RLK_MSG_54_theDescriptorsOfAMessageThatHasWaited_areTheProgramsWhenItComes() {
    onThread {
      for isFull in [false, true] {
        let received = Box(0)
        let waiting = try Waiting(isFull: isFull) { message, pipe in
          guard message.descriptors.count == 2 else { return }
          HelperTests.Helper(writingTo: message.descriptors).end()
          XCTAssertEqual(pipe.receive(), "yy")
          received.value += 1
        }
        let (loop, port) = (waiting.loop, waiting.port)
        if isFull {
          XCTAssertEqual(try loop.run(for: .seconds(20), returnAfterSourceHandled: true), .handledSource)
          XCTAssertEqual(port.pendingCount, 1)  // it has come into the queue
        }
        XCTAssertEqual(received.value, 0)
        XCTAssertEqual(port.peerStatistics.undeliveredDescriptors, 2)
        XCTAssertEqual(try loop.run(for: .seconds(20), returnAfterSourceHandled: true), .handledSource)
        XCTAssertEqual(received.value, 1)
        XCTAssertEqual(port.peerStatistics.undeliveredDescriptors, 0)
        waiting.end()
      }
    }
  }
}
