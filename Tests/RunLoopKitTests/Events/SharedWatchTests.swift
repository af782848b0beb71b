import CTestSupport
import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Watches that share an inotify instance.
final class SharedWatchTests: XCTestCase {
  typealias Watch = RunLoop.FileWatch
  typealias Folder = FileWatchTests.Folder

  override class func setUp() { CountingKernel.install() }

  /// The inotify descriptors of this process.
  static var instances: [Int32] {
    (Int32(0)..<4096).filter { number in
      var text = [UInt8](repeating: 0, count: 64)
      let size = text.withUnsafeMutableBytes {
        readlink("/proc/self/fd/\(number)", $0.baseAddress!.assumingMemoryBound(to: CChar.self), 64)
      }
      return size > 0 && text.prefix(size).elementsEqual("anon_inode:inotify".utf8)
    }
  }

  /// How many members a mode watches descriptors for, with those that programs do not find.
  private static func watched(in mode: RunLoop.Mode, of loop: RunLoop) -> Int {
    let text = loop.description.components(separatedBy: "  mode \(mode.rawValue) {").last ?? ""
    let count = text.components(separatedBy: "port sources: ").dropFirst().first?.prefix { $0.isNumber }
    return count.flatMap { Int($0) } ?? 0
  }

  private static func pendingBytes(_ instance: Int32) -> Int32 {
    var count: Int32 = 0
    _ = ioctl(instance, 0x541B, &count)  // FIONREAD
    return count
  }

  /// What the kernel watches for, by the masks that it lists.
  private static func masks(_ instance: Int32) -> [UInt32] {
    let text = (try? String(contentsOfFile: "/proc/self/fdinfo/\(instance)", encoding: .utf8)) ?? ""
    return text.split(separator: "\n").filter { $0.hasPrefix("inotify") }.compactMap { line in
      line.split(separator: " ").first { $0.hasPrefix("mask:") }.flatMap { UInt32($0.dropFirst(5), radix: 16) }
    }.sorted()
  }

  private func drain(_ loop: RunLoop, _ mode: RunLoop.Mode = .default) throws {
    while try loop.run(in: mode, for: .zero, returnAfterSourceHandled: true) == .handledSource {}
  }

  func test_RLK_WATCH_14_theWatchesOfALoopShareAnInstanceWhileThereIsOne() {
    inChild { check in
      let folder = Folder()
      let before = openDescriptors()
      let made = Box<[Watch]>([])
      for _ in 0..<200 { made.update { $0.append(try! Watch(path: folder.path, events: .created) { _, _ in }) } }
      check.equal(Self.instances.count, 1)
      check.equal(openDescriptors(), before + 201)
      let loop = RunLoop.current
      try loop.add(made.value[0])
      made.value.removeAll { $0 !== made.value[0] }
      check.equal(Self.instances.count, 1)
      made.value.removeLast().invalidate()
      check.equal(Self.instances.count, 0)
      // Another loop has its own; a sequence shares its loop's.
      let mine = try Watch(path: folder.path, events: .created) { _, _ in }
      TestThread {
        let other = RunLoop.current
        let watch = try? Watch(path: folder.path, events: .created) { _, _ in }
        check.equal(Self.instances.count, 2)
        let events = try? loop.fileEvents(at: folder.path)
        check.equal(Self.instances.count, 2)
        withExtendedLifetime((other, watch, events)) {}
      }.join()
      check.equal(Self.instances.count, 1)
      withExtendedLifetime(mine) {}
    }
  }

  func test_RLK_WATCH_14_whenTheUserHasNoneLeftAnotherLoopsServes() throws {
    guard test_limit_inotify("instances", "8", 1) == 1 else { try skipCase("no user namespace may be made here") }
    inChild { check in
      check.equal(test_limit_inotify("instances", "8", 0), 1)
      let (folder, seen) = (Folder(), Box(0))
      let first = try Watch(path: folder.path, events: .created) { _, _ in }
      var others: [Int32] = []
      while case let other = inotify_init1(Int32(IN_CLOEXEC)), other >= 0 { others.append(other) }
      check.equal(errno, EMFILE)
      TestThread {
        let loop = RunLoop.current
        do {
          try loop.add(Watch(path: folder.path, events: .created) { _, _ in seen.value += 1 })
          folder.write("a")
          try self.drain(loop)
        } catch { check.fail("\(error)", line: #line) }
      }.join()
      check.equal(seen.value, 1)
      first.invalidate()
      for other in others.dropFirst() { close(other) }
      var refused: RunLoopError?
      while case let other = inotify_init1(Int32(IN_CLOEXEC)), other >= 0 {}
      do { _ = try Watch(path: folder.path, events: .created) { _, _ in } } catch { refused = error as? RunLoopError }
      check.equal(refused, .system(EMFILE))
      check.equal(refused?.call, "inotify_init1")
      check.that(refused?.description.contains("max_user_instances") ?? false, "\(String(describing: refused))")
    }
  }

  /// Whichever registration or descriptor is refused, the reader's or the watch's own: nothing is half added, and the
  /// watch, added again, is served.
  func test_RLK_ADD_4_aWatchThatIsRefusedIsServedWhenItIsAddedAgain() {
    inChild { check in
      let (loop, folder, seen) = (RunLoop.current, Folder(), Box<[String]>([]))
      let other = try Watch(path: folder.path, events: .created) { _, _ in }  // keeps the instance
      var (call, refused, hasCome) = (0, 0, true)
      while hasCome {
        call += 1
        let mode = RunLoop.Mode(rawValue: "mode \(call)")
        let watch = try Watch(path: folder.path, events: .created) { _, event in
          seen.update { $0.append(event.name ?? "") }
        }
        Faults.plan(call: call)
        let error = thrown { try loop.add(watch, to: mode) }
        hasCome = Faults.end()
        if error != nil {
          refused += 1
          check.that(!loop.contains(watch, in: mode) && loop.isEmpty(in: mode))
          check.equal(Self.watched(in: mode, of: loop), 0)
          check.that(try loop.add(watch, to: mode))
        }
        seen.value = []
        folder.write("file \(call)")
        try self.drain(loop, mode)
        check.equal(seen.value, ["file \(call)"])
        watch.invalidate()
      }
      check.that(refused >= 3, "\(refused)")  // the mode's set, the reader, and the watch
      withExtendedLifetime(other) {}
    }
  }

  /// Names of one file share what the kernel watches: each gets what it wants, and the kernel is asked for no more.
  func test_RLK_WATCH_15_namesOfOneFileGetWhatEachWants() {
    inChild { check in
      let (loop, folder, log) = (RunLoop.current, Folder(), Box<[String]>([]))
      folder.write("a")
      link(folder.file("a"), folder.file("hard"))
      symlink("a", folder.file("soft"))
      func watch(_ path: String, _ name: String, _ events: Watch.Event.Kinds) throws -> Watch {
        let watch = try Watch(path: path, events: events) { _, event in log.update { $0.append("\(name) \(event)") } }
        try loop.add(watch)
        return watch
      }
      let narrow = try watch(folder.file("a"), "narrow", .attributes)
      let wide = try watch(folder.file("hard"), "wide", [.opened, .accessed, .modified])
      let late = try watch(folder.file("soft"), "soft", .closedAfterWriting)
      let around = try watch(folder.path, "folder", .closedAfterWriting)
      let instance = Self.instances[0]
      check.equal(Self.masks(instance).map { $0 & 0xFFF }, [0x8, 0x4 | 0x8 | 0x20 | 0x1 | 0x2])
      folder.write("a", "new")
      chmod(folder.file("hard"), 0o640)
      try self.drain(loop)
      check.equal(
        log.value.sorted(),
        ["folder closedAfterWriting a", "narrow attributes", "soft closedAfterWriting", "wide modified", "wide opened"])
      wide.invalidate()
      check.equal(Self.masks(instance).map { $0 & 0xFFF }, [0x8, 0x4 | 0x8])
      late.invalidate()
      narrow.invalidate()
      check.equal(Self.masks(instance).map { $0 & 0xFFF }, [0x8])
      log.value = []
      folder.write("a", "newer")
      try self.drain(loop)
      check.equal(log.value, ["folder closedAfterWriting a"])
      withExtendedLifetime(around) {}
    }
  }

  /// Of a file whose name is another file's by now the mask cannot be changed: nothing else of it changes either.
  func test_RLK_WATCH_15_aNameThatIsAnotherFilesIsNotMistaken() {
    inChild { check in
      let (loop, folder, log) = (RunLoop.current, Folder(), Box<[String]>([]))
      folder.write("a")
      func watch(_ name: String, _ events: Watch.Event.Kinds) throws -> Watch {
        let watch = try Watch(path: folder.file("a"), events: events) { _, event in
          log.update { $0.append("\(name) \(event)") }
        }
        try loop.add(watch)
        return watch
      }
      let (old, wide) = (try watch("old", .closedAfterWriting), try watch("wide", .all))
      rename(folder.file("a"), folder.file("b"))
      folder.write("a")
      wide.invalidate()
      check.equal(Self.masks(Self.instances[0]).count, 1)
      folder.write("a", "of the other file")
      folder.write("b", "of this one")
      try self.drain(loop)
      check.equal(log.value, ["old closedAfterWriting"])
      // Its end is its own.
      unlink(folder.file("b"))
      try self.drain(loop)
      check.equal(log.value, ["old closedAfterWriting", "old ended"])
      withExtendedLifetime(old) {}
    }
  }

  /// What has happened before a watch was made is not for it, though another one of the file has it still to come.
  func test_RLK_WATCH_15_aWatchThatJoinsGetsNothingOlder() {
    onThread {
      let (loop, folder, log) = (RunLoop.current, Folder(), Box<[String]>([]))
      func watch(_ name: String) throws {
        try loop.add(
          Watch(path: folder.path, events: .created) { _, event in log.update { $0.append("\(name) \(event)") } })
      }
      try watch("first")
      folder.write("a")
      try watch("second")
      folder.write("b")
      try self.drain(loop)
      XCTAssertEqual(log.value.sorted(), ["first created a", "first created b", "second created b"])
    }
  }

  /// A number that the kernel uses again, with events of the former target still to come.
  func test_RLK_WATCH_15_aNumberThatIsUsedAgainIsTheNewTargets() throws {
    let refusal = Pipe()
    inChild { check in
      let (loop, folder, log) = (RunLoop.current, Folder(), Box<[String]>([]))
      let keeper = try Watch(path: "/", events: .deleted) { _, _ in }
      try loop.add(RunLoop.Timer.never())
      mkdir(folder.file("old"), 0o700)
      mkdir(folder.file("new"), 0o700)
      let old = try Watch(path: folder.file("old"), events: .created) { _, _ in }
      folder.write("old/a")
      old.invalidate()
      var number: Int32 = 2  // of the old one; then INOTIFY_IOC_SETNEXTWD
      guard ioctl(Self.instances[0], 0x4004_4900, number) == 0 else { return refusal.send("x") }
      number = 0
      try loop.add(
        Watch(path: folder.file("new"), events: .created) { _, event in log.update { $0.append("\(event)") } })
      folder.write("new/b")
      try self.drain(loop)
      check.equal(log.value, ["created b"])
      withExtendedLifetime(keeper) {}
    }
    let isRefused = !refusal.receive().isEmpty
    refusal.closeBoth()
    if isRefused { try skipCase("the kernel lets nobody choose the number of a watch") }
  }

  /// The events of a watch whose mode does not run cost the loop a pass, and wait.
  func test_RLK_WATCH_16_eventsForModesThatDoNotRunWait() {
    onThread {
      let (loop, folder, log) = (RunLoop.current, Folder(), Box<[String]>([]))
      mkdir(folder.file("here"), 0o700)
      mkdir(folder.file("there"), 0o700)
      for (name, mode) in [("here", RunLoop.Mode.default), ("there", "other")] {
        let watch = try Watch(path: folder.file(name), events: .created) { _, event in
          log.update { $0.append("\(name) \(event)") }
        }
        try loop.add(watch, to: mode)
      }
      folder.write("there/a")
      folder.write("here/b")
      folder.write("there/c")
      try loop.run(for: .zero)
      XCTAssertEqual(log.value, ["here created b"])
      let asleep = CountingKernel.count { _ = try? loop.run(for: .milliseconds(5)) }
      XCTAssertLessThanOrEqual(asleep.waits, 3)
      XCTAssertEqual(log.value, ["here created b"])
      try self.drain(loop, "other")  // the kernel has none of them any more
      XCTAssertEqual(log.value, ["here created b", "there created a", "there created c"])
      folder.write("there/d")
      try self.drain(loop, "other")
      XCTAssertEqual(log.value.last, "there created d")
      XCTAssertTrue(loop.items(in: "other").allSatisfy { $0 is Watch })
      for item in loop.items(in: "other") { loop.remove(item, from: "other") }
      XCTAssertFalse("\(loop)".contains("mode other {\n    port set: none yet"))
      XCTAssertEqual("\(loop)".components(separatedBy: "<file event reader").count, 2)
    }
  }

  /// The reader follows its watches: into common modes, also those that become common later, and out of them.
  func test_RLK_WATCH_16_commonModesThatComeLater() {
    onThread {
      let (loop, folder, log) = (RunLoop.current, Folder(), Box<[String]>([]))
      func readers() -> Int { "\(loop)".components(separatedBy: "<file event reader").count - 1 }
      let watch = try Watch(path: folder.path, events: .created) { _, event in log.update { $0.append("\(event)") } }
      try loop.add(watch, to: .common)
      loop.addCommonMode("later")
      XCTAssertEqual(readers(), 2)
      folder.write("a")
      try self.drain(loop, "later")
      XCTAssertEqual(log.value, ["created a"])
      loop.remove(watch, from: "later")
      XCTAssertEqual(readers(), 1)
      folder.write("b")
      try self.drain(loop)
      XCTAssertEqual(log.value, ["created a", "created b"])
      loop.remove(watch, from: .common)
      XCTAssertEqual(readers(), 0)
    }
  }

  /// Events that wait with a watch when it comes, and those behind many of others: a poll that says no has looked.
  func test_RLK_WATCH_22_aPollFindsTheEventBehindThoseOfOthers() {
    onThread {
      let (loop, folder, log) = (RunLoop.current, Folder(), Box<[String]>([]))
      for name in ["here", "there", "stays"] { mkdir(folder.file(name), 0o700) }
      func watch(_ name: String, _ mode: RunLoop.Mode) throws -> Watch {
        let watch = try Watch(path: folder.file(name), events: .created) { _, event in
          if name == "here" { log.update { $0.append("\(event)") } }
        }
        try loop.add(watch, to: mode)
        return watch
      }
      let (here, there) = (try watch("here", .default), try watch("there", "other"))
      _ = try watch("stays", .default)  // so that the reader is there before the other watch
      for number in 0..<300 { folder.write("there/\(number)") }
      folder.write("here/a")
      XCTAssertEqual(try loop.run(for: .zero, returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(log.value, ["created a"])
      // Read while it was elsewhere.
      loop.remove(here)
      try loop.add(here, to: "third")
      try self.drain(loop, "other")
      folder.write("here/b")
      try loop.run(in: "other", for: .zero)
      loop.remove(here, from: "third")
      for number in 300..<310 { folder.write("there/\(number)") }
      try loop.add(here)
      XCTAssertEqual(try loop.run(for: .zero, returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(log.value, ["created a", "created b"])
      withExtendedLifetime(there) {}
    }
  }

  /// A watch in the mode "other", which gets more than is kept for it; what it is called for.
  private func overfilled(_ loop: RunLoop, _ folder: Folder) throws -> (late: Watch, there: Box<[Watch.Event.Kind]>) {
    folder.write("a")
    folder.write("b")
    let (here, there) = (Box(0), Box<[Watch.Event.Kind]>([]))
    try loop.add(Watch(path: folder.path, events: .attributes) { _, _ in here.value += 1 })
    let late = try Watch(path: folder.path, events: .attributes) { _, event in there.update { $0.append(event.kind) } }
    try loop.add(late, to: "other")
    for number in 0..<17_000 {
      chmod(folder.file(number % 2 == 0 ? "a" : "b"), 0o600)
      if number % 1000 == 999 { try self.drain(loop) }
    }
    XCTAssertEqual(here.value, 17_000)
    return (late, there)
  }

  func test_RLK_WATCH_17_whatNoModeDeliversIsLimited() {
    onThread {
      let (loop, folder) = (RunLoop.current, Folder())
      let there = try self.overfilled(loop, folder).there
      try self.drain(loop, "other")
      XCTAssertEqual(there.value.count, 16_385)
      XCTAssertEqual(there.value.firstIndex(of: .overflow), 16_384)
      chmod(folder.file("a"), 0o640)
      try self.drain(loop, "other")
      XCTAssertEqual(there.value.last, .attributes)
    }
  }

  /// The end of the target finds no room either, and is delivered all the same.
  func test_RLK_WATCH_17_theEndComesBehindAFullQueue() {
    onThread {
      let (loop, parent) = (RunLoop.current, Folder())
      mkdir(parent.file("goes"), 0o700)
      let folder = Folder(at: parent.file("goes"))
      let (late, there) = try self.overfilled(loop, folder)
      for name in ["a", "b"] { unlink(folder.file(name)) }
      rmdir(folder.path)
      try self.drain(loop)
      XCTAssertEqual(try loop.run(in: "other", for: .seconds(30)), .finished)
      XCTAssertEqual(there.value.count, 16_386)
      XCTAssertEqual(there.value.suffix(3), [.attributes, .overflow, .ended])
      XCTAssertFalse(late.isValid)
    }
  }

  /// The kernel keeps what is not called for: one buffer is read ahead, of 4,096 bytes.
  func test_RLK_WATCH_19_aLoopReadsNoFurtherThanItCalls() {
    inChild { check in
      let (loop, folder, seen) = (RunLoop.current, Folder(), Box(0))
      try loop.add(Watch(path: folder.path, events: .created) { _, _ in seen.value += 1 })
      for number in 0..<1000 { folder.write("\(number)") }
      let before = Self.pendingBytes(Self.instances[0])
      for _ in 0..<20 { try loop.run(for: .zero) }
      check.equal(seen.value, 20)
      check.that(Self.pendingBytes(Self.instances[0]) >= before - 4096)
      try self.drain(loop)
      check.equal(seen.value, 1000)
    }
  }
}
