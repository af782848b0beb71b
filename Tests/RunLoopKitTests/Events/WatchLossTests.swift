import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// What the kernel does not report to a watch, or not in the usual form: losses, files that stay open, bytes.
final class WatchLossTests: XCTestCase {
  typealias Watch = RunLoop.FileWatch
  typealias Folder = FileWatchTests.Folder

  private func drain(_ loop: RunLoop) throws {
    while try loop.run(for: .zero, returnAfterSourceHandled: true) == .handledSource {}
  }

  /// More events than the kernel keeps, all for the folder.
  private static func flood(_ folder: Folder) throws {
    guard let text = try? String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8),
      let limit = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)), limit <= 100_000
    else { try skipCase("more than 100,000 events are kept here") }
    folder.write("a")
    folder.write("b")
    for number in 0...limit { chmod(folder.file(number % 2 == 0 ? "a" : "b"), 0o600) }
  }

  /// Whether they watch what has overflowed the queue or not.
  func test_RLK_WATCH_5_eachWatchOfTheInstanceLearnsOfTheLoss() throws {
    try onOwnThread { loop in
      let (folder, quiet, seen) = (Folder(), Folder(), Box<[String: [Watch.Event.Kind]]>([:]))
      for (name, path, mode) in [
        ("first", folder.path, .default), ("second", folder.path, "other"), ("quiet", quiet.path, .default),
        ("quiet too", quiet.path, "other"),
      ] as [(String, String, RunLoop.Mode)] {
        let watch = try Watch(path: path, events: [.attributes, .created]) { _, event in
          seen.update { $0[name, default: []].append(event.kind) }
        }
        try loop.add(watch, to: mode)
      }
      try Self.flood(folder)
      try self.drain(loop)
      while try loop.run(in: "other", for: .zero, returnAfterSourceHandled: true) == .handledSource {}
      XCTAssertEqual(seen.value["quiet"], [.overflow])
      XCTAssertEqual(seen.value["quiet too"], [.overflow])
      for name in ["first", "second"] {
        XCTAssertEqual(seen.value[name]?.filter { $0 == .overflow }.count, 1, name)
        XCTAssertEqual(seen.value[name]?.last, .overflow, name)
      }
      quiet.write("a")
      try self.drain(loop)
      XCTAssertEqual(seen.value["quiet"], [.overflow, .created])
    }
  }

  /// The kernel drops the end of a target with everything else. It lists the numbers of targets in hexadecimal: these
  /// targets have numbers that look different in decimal.
  func test_RLK_WATCH_13_aTargetThatGoesWhileEventsAreLostEndsItsWatch() throws {
    func lose(isReplaced: Bool, withoutProc: Bool) throws {
      inChild { check in
        let (loop, parent, folder) = (RunLoop.current, Folder(), Folder())
        let seen = Box<[String]>([])
        func watch(_ path: String, _ name: String) throws -> Watch {
          let watch = try Watch(path: path, events: .changes) { _, event in
            seen.update { $0.append("\(name) \(event)") }
          }
          try loop.add(watch)
          return watch
        }
        try loop.add(Watch(path: folder.path, events: .attributes) { _, _ in })
        for _ in 0..<20 { try Watch(path: parent.path, events: .created) { _, _ in }.invalidate() }
        mkdir(parent.file("goes"), 0o700)
        mkdir(parent.file("stays"), 0o700)
        mkdir(parent.file("moves"), 0o700)
        let goes = try watch(parent.file("goes"), "goes")
        let stays = try watch(parent.file("stays"), "stays")
        let moves = try watch(parent.file("moves"), "moves")
        try Self.flood(folder)
        rmdir(parent.file("goes"))
        if isReplaced { mkdir(parent.file("goes"), 0o700) }
        rename(parent.file("moves"), parent.file("moved"))
        if withoutProc { check.equal(test_own_mounts() + test_mount("/proc"), 2) }
        try self.drain(loop)
        check.equal(seen.value.filter { $0.hasPrefix("goes") }, ["goes overflow", "goes ended"])
        check.that(!goes.isValid && stays.isValid)
        seen.value = []
        if isReplaced { mkdir(parent.file("goes/x"), 0o700) }
        mkdir(parent.file("stays/x"), 0o700)
        mkdir(parent.file("moved/x"), 0o700)
        try self.drain(loop)
        // Without /proc nothing is left that could say whether a target that was renamed is there.
        check.equal(moves.isValid, !withoutProc)
        check.equal(seen.value, ["stays created x"] + (withoutProc ? [] : ["moves created x"]))
      }
    }
    try lose(isReplaced: false, withoutProc: false)
    try lose(isReplaced: true, withoutProc: false)
    if geteuid() == 0 { try lose(isReplaced: true, withoutProc: true) }
  }

  /// What the kernel has kept behind the loss comes before the end.
  func test_RLK_WATCH_13_theEndComesBehindWhatWasKept() throws {
    try onOwnThread { loop in
      let (folder, seen) = (Folder(), Box<[String]>([]))
      mkdir(folder.file("goes"), 0o700)
      let flooded = Folder()
      try loop.add(Watch(path: flooded.path, events: .attributes) { _, _ in })
      try loop.add(
        Watch(path: folder.file("goes"), events: .changes) { _, event in seen.update { $0.append("\(event)") } })
      try Self.flood(flooded)
      for _ in 0..<300 { try loop.run(for: .zero) }  // room for what follows the mark of the loss
      mkdir(folder.file("goes/x"), 0o700)
      rmdir(folder.file("goes/x"))
      rmdir(folder.file("goes"))
      try self.drain(loop)
      XCTAssertEqual(seen.value, ["overflow", "created x", "deleted x", "targetDeleted", "ended"])
    }
  }

  /// A file that is written and stays open.
  func test_RLK_WATCH_18_changesAreThoseOfContentsToo() {
    onThread {
      let (loop, folder, seen) = (RunLoop.current, Folder(), Box<[String]>([]))
      let file = open(folder.file("a"), O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
      try loop.add(Watch(path: folder.path, events: .changes) { _, event in seen.update { $0.append("\(event)") } })
      write(file, "x", 1)
      try self.drain(loop)
      XCTAssertEqual(seen.value, ["modified a"])
      ftruncate(file, 0)
      try self.drain(loop)
      close(file)
      try self.drain(loop)
      XCTAssertEqual(seen.value, ["modified a", "modified a", "closedAfterWriting a"])
    }
  }

  func test_RLK_WATCH_20_pathsAndNamesAreBytes() {
    onThread {
      let (loop, folder, seen) = (RunLoop.current, Folder(), Box<[Watch.Event]>([]))
      let name: [UInt8] = [0x66, 0xFF, 0xE9, 0x6F]
      let path = Array(folder.path.utf8) + [0x2F] + name
      func make(_ path: [UInt8]) -> Int32 { path.map { CChar(bitPattern: $0) }.withCString { mkdir($0, 0o700) } }
      try loop.add(Watch(path: folder.path, events: .created) { _, event in seen.update { $0.append(event) } })
      XCTAssertEqual(make(path), 0)
      try self.drain(loop)
      XCTAssertEqual(seen.value.map(\.nameBytes), [name])
      XCTAssertEqual(seen.value.map(\.name), ["f\u{FFFD}\u{FFFD}o"])
      let watch = try Watch(pathBytes: path, events: .created) { _, event in seen.update { $0.append(event) } }
      XCTAssertEqual(watch.pathBytes, path)
      XCTAssertEqual(watch.path, "\(folder.path)/f\u{FFFD}\u{FFFD}o")
      try loop.add(watch)
      try loop.assumeOnLoop { local in
        _ = try local.fileWatch(pathBytes: path, events: .created) { _, event in seen.update { $0.append(event) } }
      }
      XCTAssertEqual(make(path + [0x2F] + name), 0)
      try self.drain(loop)
      XCTAssertEqual(seen.value.map(\.nameBytes), [name, name, name])
      func refused(_ path: [UInt8]) -> RunLoopError? {
        thrown { try Watch(pathBytes: path, events: .created) { _, _ in } }
      }
      XCTAssertEqual(refused([]), .system(ENOENT))
      XCTAssertEqual(refused([]).map { "\($0)" }?.contains("the path is empty"), true)
      XCTAssertEqual(refused([0x2F, 0, 0x78]), .system(EINVAL))
      XCTAssertEqual(refused([0x2F, 0, 0x78]).map { "\($0)" }?.contains("byte 1 of the path is zero"), true)
    }
  }
}

extension [CChar] {
  fileprivate func withCString<R>(_ body: (UnsafePointer<CChar>) -> R) -> R {
    (self + [0]).withUnsafeBufferPointer { body($0.baseAddress!) }
  }
}
