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

  /// In the queue of a port, and behind it when it is full. The mode that runs is another port's of the connection.
  func test_RLK_MSG_54_aChildKeepsNoDescriptorOfAPeersMessageThatWaits() {
    onThread {
      for isFull in [false, true] {
        let (name, pipe, loop, second) = (NameFolder.newName(), Pipe(), RunLoop.current, Port { _, _ in })
        let port = try Port(
          registeredAs: name, queueLimit: 1, replying: { _, _ in Message([.right(second.sendRight)]) })
        try loop.add(port)
        try loop.add(second, to: "second")
        let peer = RawPeer(name)
        peer.send(frame(entries: [.right(5, flags: UInt8(RLC_FRAME_ONCE) | UInt8(RLC_FRAME_REPLY))]))
        try peer.awaitNews(serving: loop)
        if isFull { peer.send(frame()) }
        peer.send(frame(descriptors: 1, entries: [.descriptor]), [pipe.writing])
        close(pipe.writing)
        for _ in 0..<3 { _ = try loop.run(in: "second", for: .zero) }
        XCTAssertEqual(port.pendingCount, 1)
        let helper = HelperTests.Helper()
        XCTAssertTrue(pipe.hasWriter)
        port.invalidate()  // what waits is thrown away
        XCTAssertFalse(pipe.hasWriter)
        helper.end()
        second.invalidate()
        close(pipe.reading)
      }
    }
  }
}
