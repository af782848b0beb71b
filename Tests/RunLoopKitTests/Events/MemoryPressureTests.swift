import Glibc
import RunLoopEvents
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// Pressure triggers of the kernel, and the interest that they rest on.
final class MemoryPressureTests: XCTestCase {
  typealias Pressure = RunLoop.MemoryPressure

  private func makeSource(path: String = "/proc/pressure/memory") throws -> Pressure {
    let refusal = systemError {
      _ = try Pressure(.some, longerThan: .microseconds(1), within: .seconds(2), path: path) { _, _ in }
    }
    if [ENOENT, EOPNOTSUPP, EACCES, EPERM].contains(refusal) {
      try skipCase("the kernel has no pressure triggers here, or forbids them")
    }
    return try Pressure(.some, longerThan: .microseconds(1), within: .seconds(2), path: path) { _, _ in }
  }

  func test_RLK_PRESSURE_1_wrongTriggersAreRefused() throws {
    func refused(_ time: Duration, _ window: Duration, path: String = "/proc/pressure/memory") -> Int32 {
      systemError { _ = try Pressure(.some, longerThan: time, within: window, path: path) { _, _ in } }
    }
    // Without a kernel's help: nothing is written to what is no pressure file.
    let (folder, before) = (FileWatchTests.Folder(), openDescriptors())
    for (name, text) in [
      ("memory.pressure", ""), ("memory.pressure", "precious"), ("memory.pressure", "precious, and long enough"),
      ("memory.pressure", "full avg10=0.00"), ("memory.pressure", "some avg60=0.00"), ("memory.pressure", "some avg10"),
      ("pressure", "some avg10=0.00"), ("memory.pressure.old", "some avg10=0.00"), ("memory", "some avg10=0.00"),
    ] {
      unlink(folder.file(name))
      folder.write(name, text)
      XCTAssertEqual(refused(.seconds(1), .seconds(2), path: folder.file(name)), EINVAL, "\(name), \(text)")
      XCTAssertEqual(try String(contentsOfFile: folder.file(name), encoding: .utf8), text)
      unlink(folder.file(name))
    }
    XCTAssertEqual(refused(.seconds(1), .seconds(2), path: "/proc/self/comm"), EINVAL)
    XCTAssertEqual(refused(.seconds(1), .seconds(2), path: folder.file("none/memory.pressure")), ENOENT)
    XCTAssertEqual(refused(.seconds(1), .seconds(2), path: "/proc/pressure/memory\0/memory.pressure"), EINVAL)
    folder.write("file")
    XCTAssertEqual(refused(.seconds(1), .seconds(2), path: folder.file("file/memory.pressure")), ENOTDIR)
    XCTAssertEqual(openDescriptors(), before)

    _ = try makeSource()
    let descriptors = openDescriptors()
    for (time, window) in [(0, 2), (-1, 2), (3, 2), (1, 0), (1, 60), (1, Int64.max)] {
      XCTAssertEqual(refused(.seconds(time), .seconds(window)), EINVAL, "\(time) in \(window)")
    }
    XCTAssertEqual(openDescriptors(), descriptors)
  }

  /// The source writes it to a plain file that begins as the kernel's does. Times are rounded up, to at most what the
  /// kernel's number holds.
  func test_RLK_PRESSURE_1_theTriggerIsWhatWasAskedFor() throws {
    let folder = FileWatchTests.Folder()
    let (path, beginning) = (folder.file("memory.pressure"), "some avg10=")
    func trigger(_ stall: Pressure.Stall, _ time: Duration, _ window: Duration) throws -> String {
      unlink(path)
      folder.write("memory.pressure", beginning)
      var source: Pressure? = try Pressure(stall, longerThan: time, within: window, path: path) { _, _ in }
      withExtendedLifetime(source) { XCTAssertEqual(openFiles().filter { $0.hasSuffix(path) }.count, 1) }
      source = nil
      XCTAssertEqual(openFiles().filter { $0.hasSuffix(path) }.count, 0)
      return String(try String(contentsOfFile: path, encoding: .utf8).dropFirst(beginning.count))
    }
    XCTAssertEqual(try trigger(.some, .microseconds(7), .seconds(2)), "some 7 2000000\0")
    XCTAssertEqual(try trigger(.full, .nanoseconds(1001), .milliseconds(500)), "full 2 500000\0")
    XCTAssertEqual(try trigger(.full, .nanoseconds(1), .nanoseconds(1_999_999_001)), "full 1 2000000\0")
    let least = Duration(secondsComponent: 0, attosecondsComponent: 1)
    XCTAssertEqual(try trigger(.some, least, .seconds(Int64.max)), "some 1 4294967295\0")
  }

  func test_RLK_PRESSURE_2_aSourceIsAnItemAndClosesItsDescriptor() throws {
    let source = try makeSource()
    let descriptor = source.descriptor
    source.label = "cache"
    XCTAssertEqual(
      source.description, "<memory pressure source \"cache\" order 0, /proc/pressure/memory, valid, in no mode>")
    XCTAssertEqual(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC)
    onThread {
      try RunLoop.current.add(source)
      try RunLoop.current.run(for: .zero)
      source.invalidate()
      try RunLoop.current.run(for: .zero)
    }
    XCTAssertFalse(source.isValid)
    XCTAssertLessThan(fcntl(descriptor, F_GETFD), 0)
  }

  /// A child writes more than its group may have in memory.
  func test_RLK_PRESSURE_3_stallsForWantOfMemoryAreTold() throws {
    let told = Box<[Pressure.Event]>([])
    _ = try makeSource()
    let source = try Pressure(.some, longerThan: .microseconds(1), within: .seconds(2)) { _, event in
      told.update { $0.append(event) }
    }
    guard let group = Group.make() else { try skipCase("no group with little memory may be made here") }
    let script =
      "echo $$ > \(group.path)/cgroup.procs && exec dd if=/dev/zero of=\(group.file) bs=1M count=64 2> /dev/null"
    let child = try RunLoop.ChildSource.spawn("/bin/sh", arguments: ["-c", script])
    defer { group.end(child) }
    onThread {
      try RunLoop.current.add(source)
      XCTAssertEqual(try RunLoop.current.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(told.value, [.pressure])
      source.invalidate()
    }
  }

  func test_RLK_PRESSURE_4_urgentDataIsAnInterest() throws {
    var ends: [Int32] = [-1, -1]
    XCTAssertEqual(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends), 0)
    defer { ends.forEach { close($0) } }
    guard send(ends[1], "!", 1, Int32(MSG_OOB)) == 1 else { try skipCase("no urgent data on local sockets here") }
    onThread {
      let (loop, told) = (RunLoop.current, Box<[String]>([]))
      let source = try RunLoop.FileDescriptorSource(fileDescriptor: ends[0], interest: []) { source, readiness in
        var byte: UInt8 = 0
        told.update { $0.append(readiness.description) }
        XCTAssertEqual(recv(source.descriptor, &byte, 1, Int32(MSG_OOB)), 1)
      }
      try loop.add(source)
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertEqual(told.value, [])
      source.interest = .priority
      XCTAssertEqual(source.interest, .priority)
      XCTAssertEqual(try loop.run(for: .seconds(30), returnAfterSourceHandled: true), .handledSource)
      XCTAssertEqual(try loop.run(for: .zero), .timedOut)
      XCTAssertEqual(told.value, ["priority"])
    }
  }
}

/// A FIFO that begins as the kernel's file does, and that a loop takes. It reports no pressure.
final class PressureFile {
  private let folder = FileWatchTests.Folder()
  private let descriptor: Int32
  var path: String { folder.file("memory.pressure") }

  init() {
    let path = folder.file("memory.pressure")
    precondition(mkfifo(path, 0o600) == 0)
    descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    precondition(write(descriptor, "some avg10=", 11) == 11)
  }

  deinit { close(descriptor) }

  /// What a source has written. Once.
  func takeTrigger() -> String {
    var text = [UInt8](repeating: 0, count: 64)
    let count = read(descriptor, &text, text.count)
    return String(decoding: text.prefix(max(count, 0)), as: UTF8.self)
  }
}

/// A control group of version 1 or 2 with four megabytes of memory, and a file for what is written there.
private struct Group {
  let path: String
  let file: String

  static func make() -> Group? {
    let places = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
    for (folder, limit) in places {
      let path = "\(folder)/runloopkit-\(getpid())"
      guard mkdir(path, 0o700) == 0 else { continue }
      let descriptor = open("\(path)/\(limit)", O_WRONLY | O_CLOEXEC)
      let isLimited = descriptor >= 0 && write(descriptor, "4194304", 7) == 7
      if descriptor >= 0 { close(descriptor) }
      if isLimited { return Group(path: path, file: "/var/tmp/runloopkit-\(getpid())") }
      rmdir(path)
    }
    return nil
  }

  /// The kernel gives a group up when the last process is gone from it.
  func end(_ child: Int32) {
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    unlink(file)
    for _ in 0..<1000 where rmdir(path) < 0 && errno == EBUSY { sched_yield() }
  }
}
