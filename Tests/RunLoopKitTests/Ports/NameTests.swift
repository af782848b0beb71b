import CTestSupport
import Glibc
import RunLoopKit
import RunLoopPorts
import XCTest

import class RunLoopKit.RunLoop

/// Names that are lost, folders that are refused.
final class NameTests: XCTestCase {
  /// What cleaners of temporary files, and people, do.
  private static let waysToLoseIt: [@Sendable (String) -> Int32] = [
    { unlink($0) }, { rename($0, $0 + ".away") },
    { path in
      close(open(path + ".new", O_CREAT | O_RDWR | O_CLOEXEC, 0o600))
      return rename(path + ".new", path)
    },
  ]

  func test_RLK_WIRE_26_anOwnerIsToldThatItHasLostItsName_andGoesOn() {
    for lose in Self.waysToLoseIt {
      let name = NameFolder.newName()
      let path = "\(NameFolder.path)/\(name)"
      onThread {
        let (lost, told) = (Box(0), Gate())
        let port = try Port(registeredAs: name, replying: { _, message in message })
        try port.onNameLoss { port in
          lost.value += 1
          XCTAssertFalse(port.ownsName)
          told.open()
        }
        let serving = ServingThread(port)
        let right = try Port.connect(to: name)
        XCTAssertEqual(try right.request(Message(id: 1)).id, 1)
        chmod(path, 0o600)  // seen by its watch, and no loss
        XCTAssertEqual(try right.request(Message(id: 2)).id, 2)
        XCTAssertTrue(port.ownsName)
        XCTAssertEqual(lost.value, 0)
        XCTAssertEqual(lose(path), 0)
        told.wait()
        XCTAssertEqual(try right.request(Message(id: 3)).id, 3)
        XCTAssertEqual(thrown { try Port.connect(to: name) }, .noSuchPort)
        let late = Box(0)
        try port.onNameLoss { _ in late.value += 1 }
        XCTAssertEqual(late.value, 1)
        port.invalidate()
        XCTAssertEqual(lost.value, 1)
        XCTAssertEqual(thrown { try port.onNameLoss { _ in } }, .invalidItem)
        serving.stop()
      }
      for end in ["", ".away"] { unlink(path + end) }
    }
  }

  func test_RLK_WIRE_14_aNameIsFreeWhenItsPortIsGone() {
    let name = NameFolder.newName()
    onThread {
      let before = filesBesideLoops()
      for isAdded in [false, true] {
        var port: Port? = try Port(registeredAs: name) { _, _ in }
        if isAdded {
          try RunLoop.current.add(port!)
          RunLoop.current.remove(port!)
        }
        XCTAssertTrue(port!.ownsName)
        port = nil
        XCTAssertFalse(NameFolder.names.contains { $0.hasPrefix(name) })
        XCTAssertEqual(thrown { try Port.connect(to: name) }, .noSuchPort)
        XCTAssertEqual(filesBesideLoops().subtracting(before), [])
      }
    }
  }

  func test_RLK_WIRE_26_eachWhoHasAskedIsTold_once() {
    let name = NameFolder.newName()
    onThread {
      let (loop, told) = (RunLoop.current, Box<[Int]>([]))
      let port = try Port(registeredAs: name) { _, _ in }
      for number in 0..<3 {
        try port.onNameLoss { _ in
          told.update { $0.append(number) }
          if told.value.count == 3 { loop.stop() }
        }
      }
      try loop.add(port)
      XCTAssertEqual(unlink("\(NameFolder.path)/\(name)"), 0)
      XCTAssertEqual(try loop.run(for: .seconds(20)), .stopped)
      for _ in 0..<3 { _ = try loop.run(for: .zero) }
      XCTAssertEqual(told.value.sorted(), [0, 1, 2])
      port.invalidate()
    }
  }

  func test_RLK_WIRE_26_eachModeOfThePortTellsOfTheLoss() {
    for modes in [["first", "second"], ["second", "first"]] as [[RunLoop.Mode]] {
      let name = NameFolder.newName()
      onThread {
        let (loop, told) = (RunLoop.current, Box(0))
        let port = try Port(registeredAs: name) { _, _ in }
        try port.onNameLoss { _ in
          told.value += 1
          loop.stop()
        }
        for mode in modes { try loop.add(port, to: mode) }
        XCTAssertEqual(unlink("\(NameFolder.path)/\(name)"), 0)
        XCTAssertEqual(try loop.run(in: "second", for: .seconds(20)), .stopped)
        XCTAssertEqual(told.value, 1)
        port.invalidate()
      }
    }
  }

  /// Two for each who asks, which are closed when that one is told, and with the port.
  func test_RLK_WIRE_26_whatWatchesAName_endsWithTheLossOrThePort() {
    let name = NameFolder.newName()
    onThread {
      for isLost in [true, false] {
        let (loop, told, before) = (RunLoop.current, Box(0), Self.watches)
        let port = try Port(registeredAs: name) { _, _ in }
        try loop.add(port)
        let unwatched = Self.watches
        for _ in 0..<2 { try port.onNameLoss { _ in told.value += 1 } }
        XCTAssertEqual(Self.watches.subtracting(unwatched).count, 4)
        if isLost {
          XCTAssertEqual(unlink("\(NameFolder.path)/\(name)"), 0)
          try loop.serve { told.value == 2 }
          XCTAssertEqual(Self.watches.subtracting(unwatched), [])
          try port.onNameLoss { _ in told.value += 1 }  // at once
          XCTAssertEqual(Self.watches.subtracting(unwatched), [])
        }
        port.invalidate()
        XCTAssertEqual(told.value, isLost ? 3 : 0)
        XCTAssertEqual(Self.watches.subtracting(before), [])
      }
    }
  }

  /// Of folders and of mounts. Other threads of the process open other files.
  private static var watches: Set<String> {
    openFiles().filter { $0.contains("inotify") || $0.contains("/mountinfo") }
  }

  /// The watch is notified, finds the name in its place, and has nothing more to do.
  func test_RLK_WIRE_26_aLoopSleeps_afterAChangeThatIsNoLoss() {
    let name = NameFolder.newName()
    onThread {
      let (loop, passes) = (RunLoop.current, Box(0))
      let port = try Port(registeredAs: name) { _, _ in }
      try port.onNameLoss { _ in XCTFail("the name is not lost") }
      try loop.add(port)
      let counting = RunLoop.Observer(.beforeTimers, repeats: true) { _, _ in
        passes.value += 1
        if passes.value == 100 { loop.stop() }
      }
      try loop.add(counting)
      for mode in [0o600, 0o700] as [mode_t] {
        XCTAssertEqual(chmod("\(NameFolder.path)/\(name)", mode), 0)
        passes.value = 0
        XCTAssertEqual(try loop.run(for: .milliseconds(30)), .timedOut)
        XCTAssertTrue(port.ownsName)
      }
      counting.invalidate()
      port.invalidate()
    }
  }

  func test_RLK_WIRE_26_itTakesTheNameBack_whereItIsTold() {
    let name = NameFolder.newName()
    onThread {
      let (loop, second, before) = (RunLoop.current, Box<Port?>(nil), openDescriptors())
      let first = try Port(registeredAs: name) { _, _ in }
      try first.onNameLoss { port in
        port.invalidate()
        second.value = try? Port(registeredAs: name) { _, _ in }
      }
      try loop.add(first)
      try loop.add(RunLoop.Timer.never())
      XCTAssertEqual(unlink("\(NameFolder.path)/\(name)"), 0)
      XCTAssertEqual(try loop.run(for: .seconds(20), returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(second.value?.ownsName, true)
      XCTAssertFalse(first.ownsName)
      XCTAssertNil(thrown { try Port.connect(to: name) })
      second.value?.invalidate()
      // Its mode's own descriptors are there still: the port set and its wake.
      XCTAssertLessThanOrEqual(openDescriptors(), before + 4)
      XCTAssertEqual(thrown { try Port { _, _ in }.onNameLoss { _ in } }, .noSuchPort)
    }
    XCTAssertFalse(NameFolder.names.contains(name))
  }

  func test_RLK_WIRE_30_aPathOfTheFolderThatIsTooLong_isSaid() {
    inChild { check in
      setenv("XDG_RUNTIME_DIR", "/" + String(repeating: "a", count: Int(PATH_MAX)), 1)
      let words = thrown { try Port(registeredAs: "a") { _, _ in } }.map { "\($0)" } ?? ""
      check.that(words.hasPrefix("the path of the folder of port names is too long; set XDG_RUNTIME_DIR"), words)
    }
  }

  /// What the name lies in gets another path, or something lies over it. For mounts in a folder of the child's own: the
  /// owner looks at each change of a folder around its name, and in /tmp there may be some.
  func test_RLK_WIRE_30_anOwnerIsToldThatItsFolderIsElsewhere() throws {
    let mayMount = mayHaveOwnMounts()
    for way in 0..<4 {
      if way >= 2, !mayMount { try skipCase("mounts need privileges") }
      inChild { check in
        if way >= 2 { check.equal(test_own_mounts() + test_mount("/run"), 2) }
        var template = Array("\(way < 2 ? "/tmp" : "/run")/ports-test-XXXXXX".utf8CString)
        check.that(mkdtemp(&template) != nil)
        let base = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let (around, away) = (base + "/around", base + "/away")
        mkdir(around, 0o700)
        setenv("XDG_RUNTIME_DIR", around, 1)
        let folder = around + "/runloopkit"
        let lost = Box(0)
        let port = try Port(registeredAs: "a", replying: { _, message in message })
        try port.onNameLoss { port in
          lost.value += 1
          check.that(!port.ownsName)
          RunLoop.current.stop()
        }
        try RunLoop.current.add(port)
        check.that(port.ownsName)
        switch way {
        case 0: check.equal(rename(folder, away), 0)
        case 1: check.equal(rename(around, away), 0)
        case 2: check.equal(test_mount(folder), 1)
        default: check.equal(test_mount(around), 1)
        }
        check.that(!port.ownsName)
        check.equal(try RunLoop.current.run(for: .seconds(20)), .stopped)
        check.equal(lost.value, 1)
        if way == 2 { check.equal(test_unmount(folder), 1) }
        if way == 3 { check.equal(test_unmount(around), 1) }
        if way < 2 { check.equal(rename(away, way == 0 ? folder : around), 0) }
        check.that(port.ownsName)
        port.invalidate()
        for path in [folder, around, base] { check.equal(rmdir(path), 0) }
      }
    }
  }

  /// No use of a port without a reader of error messages.
  func test_RLK_WIRE_27_aFolderThatIsRefused_saysWhichAndWhatToDo() throws {
    _ = NameFolder.newName()
    func description(_ prepare: (String) -> Void) -> String {
      let words = Pipe()
      inChild { check in
        var base = Array("/tmp/ports-test-XXXXXX".utf8CString)
        check.that(mkdtemp(&base) != nil)
        let folder = String(decoding: base.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        setenv("XDG_RUNTIME_DIR", folder, 1)
        prepare(folder + "/runloopkit")
        words.send(thrown { try Port(registeredAs: "a") { _, _ in } }?.description ?? "nothing")
        words.send("\n" + (thrown { try Port.connect(to: "a") }?.description ?? "nothing"))
        rmdir(folder + "/runloopkit")
        unlink(folder + "/runloopkit")
        rmdir(folder)
      }
      defer { words.closeBoth() }
      let lines = words.receive().split(separator: "\n").map(String.init)
      XCTAssertEqual(lines.count, 2)
      XCTAssertEqual(lines.first, lines.last)
      XCTAssertTrue(lines[0].hasPrefix("the folder of port names /tmp/ports-test-"), lines[0])
      return lines[0]
    }
    let user = geteuid()
    let remedy = "set XDG_RUNTIME_DIR, for all processes that use ports, to a folder that is only user \(user)'s"
    var words = description { path in
      mkdir(path, 0o700)
      chmod(path, 0o755)
    }
    XCTAssertTrue(words.contains("is open to others (mode 755); chmod 700 it"), words)
    words = description { path in close(open(path, O_CREAT | O_RDWR, 0o600)) }
    XCTAssertTrue(words.contains("is no folder; remove it, or \(remedy)"), words)
    words = description { path in setenv("XDG_RUNTIME_DIR", "/tmp/ports-test-none", 1) }
    XCTAssertTrue(words.contains("cannot be made; make the folder around it, or \(remedy)"), words)
    guard user == 0 else { try skipCase("a folder of another user needs root") }
    words = description { path in
      mkdir(path, 0o700)
      chown(path, 65534, 65534)
    }
    XCTAssertTrue(words.contains("belongs to user 65534, not to user \(user); \(remedy)"), words)
  }

  /// One place for each descriptor, for a payload that is sent in a file, and for each right to a third process's port.
  func test_RLK_WIRE_28_whatTakesAPlaceAmongThe253() {
    let name = NameFolder.newName()
    let peer = Peer("serve", name)
    onThread {
      let right = try Port.connect(to: name)
      func error(_ payload: Message.Bytes, _ count: Int) -> RunLoopError? {
        thrown {
          let descriptors = try (0..<count).map { _ in Message.Component.descriptor(try .init(duplicating: 0)) }
          let answer = try right.request(Message(id: 1, [.bytes(payload)] + descriptors))
          XCTAssertEqual(answer.descriptors.count, count)
        }
      }
      let copied = Message.Bytes([UInt8](repeating: 1, count: 64 << 10))
      let large = Message.Bytes([UInt8](repeating: 1, count: 64 << 10 + 1))
      // In a file already; with no place left for that it is copied.
      let shared = try Message.Bytes(sharing: 20 << 10) { memory in
        memory.initializeMemory(as: UInt8.self, repeating: 7)
        return 20 << 10
      }
      for bytes in [copied, shared] {
        XCTAssertEqual(error(bytes, 253), nil)
        XCTAssertEqual(error(bytes, 254), .tooManyDescriptors)
      }
      XCTAssertEqual(error(large, 252), nil)
      XCTAssertEqual(error(large, 253), .tooManyDescriptors)
      // In the process nothing but descriptors counts.
      let port = Port { _, _ in }
      let most = try (0..<253).map { _ in Message.Component.descriptor(try .init(duplicating: 0)) }
      XCTAssertNil(thrown { try port.sendRight.send(Message([.bytes(large), .right(right)] + most)) })
    }
    XCTAssertEqual(
      "\(RunLoopError.tooManyDescriptors)",
      "too many descriptors: a message has room for 253; between processes a payload of more than 64 KiB takes one of "
        + "these places, and so does each right to a third process's port")
    withExtendedLifetime(peer) {}
  }
}
