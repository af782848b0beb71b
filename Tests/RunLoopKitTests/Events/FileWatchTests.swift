import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

final class FileWatchTests: XCTestCase {
  typealias Watch = RunLoop.FileWatch

  /// A folder of its own, gone with its owner.
  final class Folder {
    let path: String

    init() {
      var template = Array("/tmp/runloopkit-XXXXXX".utf8CString)
      path = String(cString: mkdtemp(&template))
    }

    /// One that is there.
    init(at path: String) { self.path = path }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }

    func write(_ name: String, _ text: String = "x") {
      let descriptor = open(file(name), O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
      _ = text.withCString { Glibc.write(descriptor, $0, strlen($0)) }
      close(descriptor)
    }
  }

  private func drain(_ loop: RunLoop, line: UInt = #line) throws {
    while try loop.run(for: .zero, returnAfterSourceHandled: true) == .handledSource {}
  }

  func test_RLK_WATCH_1_tellsWhatHappensInAFolderOneByOne() {
    onThread {
      let (loop, folder) = (RunLoop.current, Folder())
      let seen = Box<[Watch.Event]>([])
      try loop.add(RunLoop.Timer.never())
      try loop.add(Watch(path: folder.path, events: .changes) { _, event in seen.update { $0.append(event) } })
      folder.write("a")
      rename(folder.file("a"), folder.file("b"))
      mkdir(folder.file("c"), 0o700)
      unlink(folder.file("b"))
      try loop.run(for: .seconds(30), returnAfterSourceHandled: true)
      XCTAssertEqual(seen.value.count, 1)
      try self.drain(loop)
      XCTAssertEqual(
        seen.value.map(\.description),
        ["created a", "modified a", "closedAfterWriting a", "movedAway a", "movedHere b", "created c", "deleted b"])
      XCTAssertEqual(seen.value.map(\.isDirectory), [false, false, false, false, false, true, false])
      XCTAssertNotEqual(seen.value[3].cookie, 0)
      XCTAssertEqual(seen.value[3].cookie, seen.value[4].cookie)
      XCTAssertEqual(seen.value[0].cookie, 0)
    }
  }

  private static let kinds: [(Watch.Event.Kinds, Watch.Event.Kind)] = [
    (.created, .created), (.deleted, .deleted), (.modified, .modified), (.closedAfterWriting, .closedAfterWriting),
    (.closedAfterReading, .closedAfterReading), (.attributes, .attributes), (.opened, .opened), (.accessed, .accessed),
    (.movedAway, .movedAway), (.movedHere, .movedHere), (.targetDeleted, .targetDeleted), (.targetMoved, .targetMoved),
  ]

  /// A watch of one kind gets those events, one of all kinds gets all: in a folder, and of a file.
  func test_RLK_WATCH_1_eachKindIsDeliveredToWhoWantsIt() {
    onThread {
      let (loop, folder, seen) = (RunLoop.current, Folder(), Box<[String: [String]]>([:]))
      let all = ("all", Watch.Event.Kinds.all)
      folder.write("a")
      for (kind, events) in Self.kinds.map({ ("\($0.1)", $0.0) }) + [all] {
        for (target, path) in [("folder", folder.path), ("file", folder.file("a"))] {
          let watch = try Watch(path: path, events: events) { _, event in
            seen.update { $0["\(target) \(kind)", default: []].append("\(event)") }
          }
          try loop.add(watch)
        }
      }
      folder.write("a")
      chmod(folder.file("a"), 0o640)
      var byte: UInt8 = 0
      let file = open(folder.file("a"), O_RDONLY | O_CLOEXEC)
      XCTAssertEqual(read(file, &byte, 1), 1)
      close(file)
      rename(folder.file("a"), folder.file("b"))
      folder.write("c")
      unlink(folder.file("b"))
      try self.drain(loop)
      let written = ["opened", "modified", "closedAfterWriting"]
      let both = written + ["attributes", "opened", "accessed", "closedAfterReading"]
      var ofFolder = both.map { "\($0) a" } + ["movedAway a", "movedHere b", "created c"]
      ofFolder += written.map { "\($0) c" } + ["deleted b"]
      let ofFile = both + ["targetMoved", "attributes", "targetDeleted", "ended"]
      XCTAssertEqual(seen.value["folder all"], ofFolder)
      XCTAssertEqual(seen.value["file all"], ofFile)
      for (_, kind) in Self.kinds {
        XCTAssertEqual(seen.value["folder \(kind)"] ?? [], ofFolder.filter { $0.hasPrefix("\(kind) ") })
        XCTAssertEqual(seen.value["file \(kind)"], ofFile.filter { $0 == "\(kind)" || $0 == "ended" })
      }
    }
  }

  func test_RLK_WATCH_2_aDeletedTargetIsToldAndEndsTheWatch() {
    onThread {
      let (loop, folder) = (RunLoop.current, Folder())
      folder.write("a")
      let seen = Box<[Watch.Event.Kind]>([])
      let watch = try Watch(path: folder.file("a"), events: [.targetDeleted, .targetMoved]) { watch, event in
        XCTAssertTrue(watch.isValid)
        XCTAssertNil(event.name)
        seen.update { $0.append(event.kind) }
      }
      try loop.add(watch)
      rename(folder.file("a"), folder.file("b"))
      unlink(folder.file("b"))
      XCTAssertEqual(try loop.run(for: .seconds(30)), .finished)
      XCTAssertEqual(seen.value, [.targetMoved, .targetDeleted, .ended])
      XCTAssertFalse(watch.isValid)
    }
  }

  /// Two watches of one file: each has its own mask and gets its own events.
  func test_RLK_WATCH_3_twoWatchesOfOneFileDoNotShare() {
    onThread {
      let (loop, folder) = (RunLoop.current, Folder())
      folder.write("a")
      let log = Box<[String]>([])
      let first = try Watch(path: folder.file("a"), events: .modified) { _, event in
        log.update { $0.append("1 \(event)") }
      }
      try loop.add(first)
      try loop.add(
        Watch(path: folder.file("a"), events: [.closedAfterWriting, .modified]) { _, event in
          log.update { $0.append("2 \(event)") }
        })
      folder.write("a", "new")
      try self.drain(loop)
      XCTAssertEqual(log.value.sorted(), ["1 modified", "2 closedAfterWriting", "2 modified"])
      first.invalidate()
      log.value = []
      folder.write("a", "newer")
      try self.drain(loop)
      XCTAssertEqual(log.value, ["2 modified", "2 closedAfterWriting"])
    }
  }

  /// What has been read and not told waits for the modes that hold the watch, and a removed one is not called.
  func test_RLK_WATCH_4_aWatchThatLeavesAndComesBackLosesNothing() {
    onThread {
      let (loop, folder) = (RunLoop.current, Folder())
      let seen = Box<[String]>([])
      let watch = try Watch(path: folder.path, events: .created) { watch, event in
        seen.update { $0.append(event.name ?? "") }
        if event.name == "b" { loop.remove(watch) }
      }
      try loop.add(watch)
      try loop.add(RunLoop.Timer.never())
      for name in ["a", "b", "c", "d"] { folder.write(name) }
      try self.drain(loop)
      XCTAssertEqual(seen.value, ["a", "b"])
      try loop.add(watch)
      try self.drain(loop)
      XCTAssertEqual(seen.value, ["a", "b", "c", "d"])
      watch.invalidate()
      folder.write("e")
      try self.drain(loop)
      XCTAssertEqual(seen.value.count, 4)
    }
  }

  func test_RLK_WATCH_5_overflowIsTold() throws {
    guard let text = try? String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8),
      let limit = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)), limit <= 100_000
    else { try skipCase("more than 100,000 events are kept here") }
    onThread {
      let (loop, folder) = (RunLoop.current, Folder())
      folder.write("a")
      folder.write("b")
      let (told, overflows) = (Box(0), Box(0))
      try loop.add(
        Watch(path: folder.path, events: .attributes) { _, event in
          told.value += 1
          if event.kind == .overflow {
            overflows.value += 1
            XCTAssertNil(event.name)
          }
        })
      // Alternating, since equal ones that follow each other are merged.
      for number in 0...limit { chmod(folder.file(number % 2 == 0 ? "a" : "b"), 0o600) }
      try self.drain(loop)
      XCTAssertEqual(overflows.value, 1)
      XCTAssertEqual(told.value, limit + 1)
      chmod(folder.file("a"), 0o640)
      try self.drain(loop)
      XCTAssertEqual(told.value, limit + 2)  // it goes on
    }
  }

  func test_RLK_WATCH_6_whatCannotBeWatchedIsRefused() {
    func error(_ path: String, _ events: Watch.Event.Kinds) -> RunLoopError? {
      thrown { try Watch(path: path, events: events) { _, _ in } }
    }
    let before = openDescriptors()
    XCTAssertEqual(error("/no/such/path", .changes), .system(ENOENT))
    XCTAssertEqual(error("/etc/passwd/x", .changes), .system(ENOTDIR))
    XCTAssertEqual(error("/tmp", []), .system(EINVAL))
    XCTAssertEqual(error("/tmp\0/x", .changes), .system(EINVAL))
    XCTAssertEqual(openDescriptors(), before)
  }

  /// All of inotify(7) that is no event of these: options such as IN_ONESHOT and IN_DONT_FOLLOW.
  func test_RLK_WATCH_6_bitsThatAreNoEventsAreIgnored() {
    onThread {
      for bit in 12..<32 as Range<UInt32> {
        let (loop, folder, seen) = (RunLoop.current, Folder(), Box<[String]>([]))
        let option = Watch.Event.Kinds(rawValue: 1 << bit)
        XCTAssertEqual(thrown { try Watch(path: folder.path, events: option) { _, _ in } }, .system(EINVAL), "\(bit)")
        folder.write("a")
        symlink("a", folder.file("soft"))
        let other = try Watch(path: folder.file("a"), events: .modified) { _, _ in }
        let watch = try Watch(path: folder.file("soft"), events: [.closedAfterWriting, option]) { _, event in
          seen.update { $0.append("\(event)") }
        }
        XCTAssertEqual(watch.events, [.closedAfterWriting, option])
        try loop.add(watch)
        for _ in 0..<2 {
          folder.write("a", "new")
          try self.drain(loop)
        }
        XCTAssertEqual(seen.value, ["closedAfterWriting", "closedAfterWriting"], "\(bit)")
        watch.invalidate()
        withExtendedLifetime(other) {}
      }
    }
  }

  /// Case 16: no watches are left. The limit of a user namespace of its own is lowered, which needs the right to make one.
  func test_RLK_WATCH_7_noWatchesLeftIsAnError() throws {
    guard test_limit_inotify("watches", "1", 1) == 1 else { try skipCase("no user namespace may be made here") }
    inChild { check in
      check.equal(test_limit_inotify("watches", "1", 0), 1)
      let first = try Watch(path: "/tmp", events: .created) { _, _ in }
      var refused: RunLoopError?
      do { _ = try Watch(path: "/usr", events: .created) { _, _ in } } catch { refused = error as? RunLoopError }
      check.equal(refused, .system(ENOSPC))
      check.that(refused?.description.contains("max_user_watches") ?? false, "\(String(describing: refused))")
      first.invalidate()
      _ = try Watch(path: "/usr", events: .created) { _, _ in }
    }
  }

  /// Cases 19 and 22. Every other one makes the kernel watch for more, and its end for less again.
  func test_RLK_WATCH_8_noDescriptorIsLeftOrInherited() {
    onThread {
      let (loop, folder) = (RunLoop.current, Folder())
      try loop.add(RunLoop.Timer.never())
      try loop.add(Watch(path: folder.path, events: .created) { _, _ in }, to: "other")
      let warm = try Watch(path: folder.path, events: .created) { _, _ in }
      XCTAssertNotEqual(fcntl(warm.descriptor, F_GETFD) & FD_CLOEXEC, 0)
      try loop.add(warm)
      warm.invalidate()
      let before = openDescriptors()
      for number in 0..<500 {
        let events: Watch.Event.Kinds = number % 2 == 0 ? .created : [.created, .deleted]
        let watch = try Watch(path: folder.path, events: events) { _, _ in }
        try loop.add(watch)
        watch.invalidate()
        _ = try Watch(path: folder.path, events: events) { _, _ in }
      }
      XCTAssertEqual(openDescriptors(), before)
    }
  }

  /// Invalidated in its own callout: the rest is not told; its descriptors are closed after it.
  func test_RLK_WATCH_9_invalidatedInItsCalloutItTellsNoMore() {
    onThread {
      let (loop, folder) = (RunLoop.current, Folder())
      let seen = Box(0)
      let watch = try Watch(path: folder.path, events: .created) { watch, _ in
        seen.value += 1
        watch.invalidate()
        XCTAssertGreaterThanOrEqual(fcntl(watch.descriptor, F_GETFD), 0)
      }
      try loop.add(watch)
      try loop.add(RunLoop.Timer.never())
      folder.write("a")
      folder.write("b")
      try self.drain(loop)
      XCTAssertEqual(seen.value, 1)
    }
  }

  /// Names are padded with zeros to a multiple of their alignment; a read takes what fits.
  func test_RLK_WATCH_10_namesOfAllLengthsAcrossManyReads() {
    onThread {
      let (loop, folder) = (RunLoop.current, Folder())
      let names = (1...255).map { String(repeating: "n", count: $0) }
      let seen = Box<[String]>([])
      try loop.add(
        Watch(path: folder.path, events: .created) { _, event in seen.update { $0.append(event.name ?? "") } })
      for name in names { folder.write(name) }
      try self.drain(loop)
      XCTAssertEqual(seen.value, names)
    }
  }

  /// A folder that is renamed is still watched; when it is removed, that is told, and the end.
  func test_RLK_WATCH_11_aFolderThatMovesAndGoes() {
    onThread {
      let (loop, folder) = (RunLoop.current, Folder())
      mkdir(folder.file("a"), 0o700)
      let seen = Box<[String]>([])
      try loop.add(
        Watch(path: folder.file("a"), events: .changes) { _, event in seen.update { $0.append(event.description) } })
      rename(folder.file("a"), folder.file("b"))
      mkdir(folder.file("b/c"), 0o700)
      rmdir(folder.file("b/c"))
      rmdir(folder.file("b"))
      XCTAssertEqual(try loop.run(for: .seconds(30)), .finished)
      XCTAssertEqual(seen.value, ["targetMoved", "created c", "deleted c", "targetDeleted", "ended"])
    }
  }

  func test_RLK_WATCH_12_anUnmountedTargetIsToldAndEndsTheWatch() throws {
    let folder = Folder()
    inChild { check in
      guard test_own_mounts() == 1, test_mount(folder.path) == 1 else { return }
      folder.write("mounted")  // the parent sees nothing of it
      let loop = RunLoop.current
      let seen = Box<[Watch.Event.Kind]>([])
      let watch = try Watch(path: folder.path, events: .created) { _, event in seen.update { $0.append(event.kind) } }
      try loop.add(watch, to: "watch")
      check.equal(test_unmount(folder.path), 1)
      check.equal(try loop.run(in: "watch", for: .seconds(30)), .finished)
      check.equal(seen.value, [.unmounted, .ended])
      check.that(!watch.isValid)
      try? FileManager.default.removeItem(atPath: folder.path)
    }
    // The child removes the folder if it could mount.
    guard !FileManager.default.fileExists(atPath: folder.path) else { try skipCase("nothing may be mounted here") }
  }
}
