import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Event sources that `RunLoop.Local` makes: each has all that it was asked for with.
final class LocalEventTests: XCTestCase {
  private static let limit = RunLoop.RateLimit(count: 1, per: .seconds(3600))

  func test_RLK_LOCAL_1_childSources() {
    inChild { check in
      let loop = RunLoop.current
      for ownership in [RunLoop.ChildSource.Ownership.borrowed, .killedWhenInvalidated] {
        let child = test_fork()
        if child == 0 { while true { pause() } }
        let source = try loop.assumeOnLoop { local in
          try local.childSource(processID: child, ownership: ownership, in: "children") { _, _ in }
        }
        check.that(loop.items(in: "children").contains { $0 === source })
        source.invalidate()
        check.equal(kill(child, 0), ownership == .borrowed ? 0 : -1)
        guard ownership == .borrowed else { continue }  // reaped
        kill(child, SIGKILL)
        waitpid(child, nil, 0)
      }
    }
  }

  func test_RLK_LOCAL_1_fileWatches() {
    onThread {
      for way in ["text", "bytes", "bytes, on any loop"] {
        let (loop, folder, seen) = (RunLoop.current, FileWatchTests.Folder(), Box(0))
        let (path, bytes, mode) = (folder.path, Array(folder.path.utf8), "files" as RunLoop.Mode)
        let watch = try loop.assumeOnLoop { local in
          let body = { @Sendable (_: RunLoop.FileWatch, _: RunLoop.FileWatch.Event) in seen.value += 1 }
          switch way {
          case "text": return try local.fileWatch(path: path, events: .created, limit: Self.limit, in: mode, body)
          case "bytes":
            return try local.fileWatch(pathBytes: bytes, events: .created, limit: Self.limit, in: mode, body)
          default: return try RunLoop.FileWatch(pathBytes: bytes, events: .created, limit: Self.limit, body)
          }
        }
        if way.hasSuffix("any loop") { try loop.add(watch, to: mode) }
        XCTAssertEqual(watch.events, .created)
        XCTAssertTrue(loop.contains(watch, in: mode) && !loop.contains(watch, in: .default))
        for name in ["a", "b", "c"] { folder.write(name) }
        while try loop.run(in: mode, for: .zero, returnAfterSourceHandled: true) == .handledSource {}
        XCTAssertEqual(seen.value, 1, way)
        watch.invalidate()
      }
    }
  }

  func test_RLK_LOCAL_1_signalSources() {
    inChild { check in
      let (loop, signal, log) = (RunLoop.current, RunLoop.Signal.realtime(7), Box<[String]>([]))
      try loop.assumeOnLoop { local in
        try local.signalSource(signal, limit: Self.limit, in: "signals") { _, info in
          log.update { $0.append("limited \(info.value)") }
        }
        for (name, order) in [("later", 5), ("first", 0)] {
          try local.signalSource(.user1, .user2, order: order, in: "signals") { _, info in
            log.update { $0.append("\(name) \(info.signal)") }
          }
        }
      }
      for value in 1...3 {
        _ = sigqueue(getpid(), signal.rawValue, sigval(sival_ptr: UnsafeMutableRawPointer(bitPattern: value)))
      }
      kill(getpid(), SIGUSR2)
      for _ in 0..<9 { try loop.run(in: "signals", for: .zero) }
      check.equal(log.value.filter { $0.hasPrefix("limited") }, ["limited 1"])
      check.equal(log.value.filter { !$0.hasPrefix("limited") }, ["first SIGUSR2", "later SIGUSR2"])
    }
  }

  func test_RLK_LOCAL_1_memoryPressure() {
    onThread {
      let (loop, file) = (RunLoop.current, PressureFile())
      let source = try loop.assumeOnLoop { local in
        try local.memoryPressure(
          .full, longerThan: .milliseconds(3), within: .seconds(4), path: file.path, order: 4, in: "pressure"
        ) { _, _ in }
      }
      XCTAssertEqual(file.takeTrigger(), "full 3000 4000000\0")
      XCTAssertTrue(loop.items(in: "pressure").contains { $0 === source })
      XCTAssertEqual(source.description, "<memory pressure source order 4, \(file.path), valid>")
      source.invalidate()
    }
  }
}
