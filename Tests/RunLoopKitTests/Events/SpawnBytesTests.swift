import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What programs are started with; also names, arguments, variables and files that are no UTF-8.
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

  func test_RLK_EVENT_10_anEnvironmentOfOnesOwn_ofNothing_orThisProcesss() {
    inChild { check in
      setenv("RLK_MARK", "mine", 1)
      for (environment, mark) in [(nil, "<mine>\n"), ([], "<>\n"), (["RLK_MARK=x"], "<x>\n")] as [([String]?, String)] {
        let output = Pipe()
        let child = try RunLoop.ChildSource.spawn(
          "/bin/sh", arguments: ["-c", "echo \"<$RLK_MARK>\""], environment: environment,
          actions: [.duplicate(output.writing, as: 1)])
        check.equal(waitpid(child, nil, 0), child)
        check.equal(output.receive(), mark)
        output.closeBoth()
      }
    }
  }

  func test_RLK_EVENT_10_actionsAreCarriedOutInOrder() {
    inChild { check in
      let output = Pipe()
      let child = try RunLoop.ChildSource.spawn(
        "/bin/sh", arguments: ["-c", "for fd in 107 108 109; do [ -p /proc/self/fd/$fd ] && echo $fd; done; pwd"],
        actions: [
          .close(107), .duplicate(output.writing, as: 107), .duplicate(output.writing, as: 108), .close(108),
          .duplicate(output.writing, as: 109), .changeDirectory("/proc"), .changeDirectoryBytes(Array("self".utf8)),
          .changeDirectory("/"), .duplicate(output.writing, as: 1),
        ])
      check.equal(waitpid(child, nil, 0), child)
      check.equal(output.receive(), "107\n109\n/\n")
    }
  }

  func test_RLK_EVENT_10_filesAreOpenedWithTheirFlagsAndModes() {
    inChild { check in
      umask(0)
      let folder = FileWatchTests.Folder()
      let flags = O_CREAT | O_WRONLY | O_APPEND
      for _ in 0..<2 {
        let child = try RunLoop.ChildSource.spawn(
          "/bin/sh", arguments: ["-c", "echo out; echo err >&2"],
          actions: [
            .open(path: folder.file("text"), flags: flags, mode: 0o640, as: 1),
            .openBytes(path: Array(folder.file("bytes").utf8), flags: flags, mode: 0o604, as: 2),
            .open(path: folder.file("usual"), flags: flags, as: 3),
          ])
        check.equal(waitpid(child, nil, 0), child)
      }
      for (name, mode, text) in [("text", 0o640, "out\nout\n"), ("bytes", 0o604, "err\nerr\n"), ("usual", 0o644, "")] {
        var status = stat()
        check.equal(lstat(folder.file(name), &status), 0)
        check.equal(status.st_mode & 0o7777, mode_t(mode))
        check.equal(try String(contentsOfFile: folder.file(name), encoding: .utf8), text)
      }
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
