import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Programs whose names, arguments, variables and files are no UTF-8.
final class SpawnBytesTests: XCTestCase {
  func test_RLK_CHILD_16_aProgramIsStartedWithBytes() {
    inChild { check in
      let (folder, output) = (FileWatchTests.Folder(), Pipe())
      let odd: [UInt8] = [0x61, 0xFF, 0xC3, 0x62]
      let path = Array(folder.path.utf8) + [0x2F] + odd
      let script = "printf %s:%s:%s \"$1\" \"$V\" \"${PWD##*/}\"; cat"
      check.equal((path + [0]).withUnsafeBytes { mkdir($0.baseAddress!.assumingMemoryBound(to: CChar.self), 0o700) }, 0)
      let file = path + Array("/f".utf8)
      let created = (file + [0]).withUnsafeBytes {
        open($0.baseAddress!.assumingMemoryBound(to: CChar.self), O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
      }
      write(created, "!", 1)
      close(created)
      let child = try RunLoop.ChildSource.spawn(
        pathBytes: Array("/bin/sh".utf8), arguments: [Array("-c".utf8), Array(script.utf8), Array("sh".utf8), odd],
        environment: [Array("V=".utf8) + odd, Array("PATH=/usr/bin:/bin".utf8)],
        actions: [
          .changeDirectoryBytes(path), .duplicate(output.writing, as: 1),
          .openBytes(path: Array("f".utf8), flags: O_RDONLY, as: 0),
        ])
      var status: Int32 = 0
      check.equal(waitpid(child, &status, 0), child)
      check.equal(status, 0)
      var bytes = [UInt8](repeating: 0, count: 64)
      let count = read(output.reading, &bytes, bytes.count)
      check.equal(Array(bytes.prefix(max(count, 0))), odd + [0x3A] + odd + [0x3A] + odd + [0x21])
    }
  }

  /// The refusal names the string.
  func test_RLK_CHILD_16_aZeroByteIsNamed() {
    func refusal(
      _ path: String, _ arguments: [String] = [], _ environment: [String] = [],
      _ actions: [RunLoop.ChildSource.FileAction] = []
    ) -> String {
      let error = thrown {
        try RunLoop.ChildSource.spawn(path, arguments: arguments, environment: environment, actions: actions)
      }
      return error == .system(EINVAL) ? "\(error!)" : "\(String(describing: error))"
    }
    XCTAssertTrue(refusal("/bin\0").contains("(the path, byte 4)"), refusal("/bin\0"))
    XCTAssertTrue(refusal("true", ["a", "b\0"]).contains("(argument 1, byte 1)"), refusal("true", ["a", "b\0"]))
    XCTAssertTrue(refusal("true", [], ["A=\0"]).contains("(environment string 0, byte 2)"))
    XCTAssertTrue(
      refusal("true", [], [], [.close(9), .changeDirectory("\0")]).contains("(the path of action 1, byte 0)"))
  }
}
