import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Bytes in memory that processes share: their descriptor.
final class SharedBytesTests: XCTestCase {
  private func newFiles(since before: Set<String>) -> Set<String> {
    openFiles().subtracting(before).filter { $0.contains("memfd") }
  }

  func testBytesOfNothing_leaveNothingOpen() throws {
    let before = openFiles()
    for _ in 0..<3 {
      XCTAssertEqual(try Message.Bytes(sharing: 100_000) { _ in 0 }, Message.Bytes())
      for capacity in [0, -1] {
        XCTAssertEqual(try Message.Bytes(sharing: capacity) { _ in fatalError("no memory was asked for") }.count, 0)
      }
    }
    XCTAssertEqual(newFiles(since: before), [])
  }

  /// In the packet, in a file that is made for it, and of a file that others share.
  func testAPartOfBytes_arrivesAsThatPart() {
    let name = NameFolder.newName()
    onThread {
      let port = try Port(registeredAs: name, replying: { _, message in Message(message.components) })
      let serving = ServingThread(port)
      let right = try Port.connect(to: name)
      let values = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 251 &+ $0) }
      let shared = try Message.Bytes(sharing: values.count) { memory in
        memory.copyBytes(from: values)
        return values.count
      }
      for whole in [Message.Bytes(values), shared] {
        for range in [0..<10, 7..<20, 0..<30_000, 5..<40_000, 0..<100_000, 90_000..<200_000, 0..<200_000] {
          let answer = try right.request(Message([.bytes(whole[range]), .bytes(whole[3..<4])]))
          let bytes = answer.components.map { if case .bytes(let bytes) = $0 { Array(bytes) } else { [UInt8]() } }
          XCTAssertEqual(bytes, [Array(values[range]), [values[3]]], "\(range)")
        }
      }
      serving.stop()
      port.invalidate()
    }
  }

  /// All of them can be read and sent on, whether their descriptors were kept or not.
  func testOfManyPayloadsOfOthers_someKeepTheirDescriptors() {
    onThread {
      let (name, kept, count) = (NameFolder.newName(), Box<[Message]>([]), 70)
      let port = try Port(registeredAs: name) { _, message in
        if message.bytes != nil { kept.update { $0.append(message) } }
        try? message.reply?.send(Message(kept.value.isEmpty ? [] : kept.value[Int(message.id)].components))
      }
      let serving = ServingThread(port)
      let right = try Port.connect(to: name)
      let before = openFiles()
      func payload(_ index: Int) -> Message.Bytes {
        Message.Bytes([UInt8](repeating: UInt8(index), count: 100_000 + index))
      }
      for _ in 0..<2 {  // as many the second time
        for index in 0..<count {
          XCTAssertEqual(try right.request(Message(id: UInt32(index), bytes: payload(index))).bytes, payload(index))
        }
        XCTAssertEqual(port.peerStatistics.mappedBytes, (0..<count).reduce(0) { $0 + 100_000 + $1 })
        try serving.loop.performAndWait {}  // the callout that has answered is over
        let files = self.newFiles(since: before).count
        XCTAssertTrue((1...64).contains(files), "\(files)")
        for index in 0..<count {
          XCTAssertEqual(try right.request(Message(id: UInt32(index))).bytes, payload(index))
        }
        kept.value = []
        _ = try right.request(Message())
        try serving.loop.performAndWait {}
        XCTAssertEqual(self.newFiles(since: before), [])
        XCTAssertEqual(port.peerStatistics.mappedBytes, 0)
      }
      serving.stop()
      port.invalidate()
    }
  }

  /// It cannot be written to, is as large as the bytes, and is closed with the last of them.
  func testTheFileLivesAsLongAsTheBytes() throws {
    let before = openFiles()
    var bytes: Message.Bytes? = try Message.Bytes(sharing: 100_000) { memory in
      XCTAssertEqual(memory.count, 100_000)
      XCTAssertTrue(memory.allSatisfy { $0 == 0 })
      memory.storeBytes(of: 7, as: UInt8.self)
      return 5000
    }
    XCTAssertEqual(bytes?.count, 5000)
    XCTAssertEqual(bytes?.first, 7)
    let files = newFiles(since: before)
    XCTAssertEqual(files.count, 1)
    let number = try XCTUnwrap(files.first?.split(separator: " ").first.flatMap { Int32($0) })
    var status = stat()
    XCTAssertEqual(fstat(number, &status), 0)
    XCTAssertEqual(status.st_size, 5000)
    XCTAssertEqual(fcntl(number, F_GETFD), FD_CLOEXEC)
    XCTAssertEqual(pwrite(number, "x", 1, 0), -1)
    XCTAssertEqual(errno, EPERM)
    var part = bytes?[10..<20]
    bytes = nil
    XCTAssertEqual(part?.count, 10)
    XCTAssertEqual(newFiles(since: before), files)
    part = nil
    XCTAssertEqual(newFiles(since: before), [])
  }
}
