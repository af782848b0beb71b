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
