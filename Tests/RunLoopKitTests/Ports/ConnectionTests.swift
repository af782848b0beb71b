import CRunLoopCore
import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Sends that fail, or take long.
final class ConnectionTests: XCTestCase {
  func test_RLK_WIRE_20_aSendThatThrows_leavesTheRightToAnswer() {
    let name = NameFolder.newName()
    onThread {
      let port = try Port(registeredAs: name) { _, message in
        let descriptor = try! Message.Descriptor(duplicating: 0)
        let twice = Message([.descriptor(descriptor), .descriptor(descriptor), .right(message.reply!)])
        XCTAssertEqual(
          thrown { try message.rights[0].send(twice) }, .system(EBADF))
        XCTAssertGreaterThanOrEqual(descriptor.fileDescriptor, 0)
        XCTAssertTrue(message.reply!.isValid)
        XCTAssertNil(thrown { try message.reply!.send(Message(id: 4)) })
      }
      let serving = ServingThread(port)
      let right = try Port.connect(to: name)
      let own = Port { _, _ in }
      XCTAssertEqual(try right.request(Message([.right(own.sendRight)])).id, 4)
      serving.stop()
      port.invalidate()
    }
  }

  /// A right that could not be sent keeps nothing of the connection.
  func test_RLK_WIRE_21_connectionsThatFailedToSendARight_areGone() {
    let name = NameFolder.newName()
    onThread {
      let port = try Port(registeredAs: name) { _, _ in }  // no loop serves it: the kernel keeps what is sent
      let own = Port { _, _ in }
      func failToSend() throws {
        let right = try Port.connect(to: name)
        while thrown({ try right.trySend(Message()) }) == nil {}
        XCTAssertEqual(thrown { try right.trySend(Message(reply: own.sendRight)) }, .portFull)
      }
      for _ in 0..<4 { try failToSend() }
      let before = test_memory_in_use()
      for _ in 0..<50 { try failToSend() }
      XCTAssertLessThan(test_memory_in_use() - before, 1 << 20)  // each has some 80 KiB
      port.invalidate()
    }
  }

  /// The peer knows nothing of the port when it ends; then comes the right to it, and then the news.
  func test_RLK_WIRE_22_aPortThatEnds_whileARightToItWaitsForRoom() {
    let name = NameFolder.newName()
    onThread {
      let (given, came, isFull, thread) = (Box<Port.SendRight?>(nil), Gate(), Gate(), Box(""))
      let port = try Port(registeredAs: name) { _, message in
        given.value = message.rights.first
        came.open()
      }
      let serving = ServingThread(port)
      let peer = RawPeer(name)
      peer.send(frame(entries: [.right(5)]))
      came.wait()
      let right = given.value!
      let own = Port { _, _ in }
      var left = 0
      while thrown({ try right.trySend(Message()) }) == nil { left += 1 }
      let sender = TestThread {
        thread.value = ownThread()
        isFull.open()
        try! right.send(Message(id: 9, [.right(own.sendRight)]))
      }
      isFull.wait()
      yieldUntil(isAsleep(thread.value))
      own.invalidate()
      for _ in 0..<left { _ = peer.receive() }
      var kinds: [UInt8] = []
      while kinds.last != UInt8(RLC_FRAME_DEAD.rawValue) || !kinds.contains(UInt8(RLC_FRAME_MESSAGE.rawValue)) {
        kinds.append(peer.receive()!.bytes[5])
      }
      sender.join()
      serving.stop()
      port.invalidate()
    }
  }
}
