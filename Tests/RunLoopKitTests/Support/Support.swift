import CTestSupport
import Dispatch
import Glibc
import RunLoopKit
import XCTest

import class RunLoopKit.RunLoop

/// A value that threads share.
final class Box<Value>: @unchecked Sendable {
  private let mutex = NSLock()  // ThreadSanitizer knows it
  private var stored: Value

  init(_ value: Value) { stored = value }

  var value: Value {
    get { mutex.withLock { stored } }
    set { mutex.withLock { stored = newValue } }
  }

  func update<R>(_ body: (inout Value) throws -> R) rethrows -> R { try mutex.withLock { try body(&stored) } }
}

/// A thread that can be joined: what the loop of a thread does at its end has happened then.
final class TestThread: @unchecked Sendable {
  private var id = pthread_t()
  fileprivate let body: () -> Void
  /// The starting thread's.
  fileprivate let kernel = Kernel.current

  init(_ body: @escaping () -> Void) {
    self.body = body
    let status = pthread_create(&id, nil, threadMain, Unmanaged.passRetained(self).toOpaque())
    precondition(status == 0, "pthread_create: \(status)")
  }

  func join() { pthread_join(id, nil) }

  /// Nobody waits for its end.
  func detach() { pthread_detach(id) }
}

private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  let thread = Unmanaged<TestThread>.fromOpaque(argument!).takeRetainedValue()
  thread.kernel?.enter()
  thread.body()
  return nil
}

/// Runs `body` on a thread of its own, hence with a loop of its own, to the end of both.
func onThread(_ body: @escaping () throws -> Void, file: StaticString = #filePath, line: UInt = #line) {
  let failure = Box<(any Error)?>(nil)
  TestThread {
    do { try body() } catch { failure.value = error }
  }.join()
  if let error = failure.value { XCTFail("\(error)", file: file, line: line) }
}

/// With the loop of a thread of its own.
func onOwnThread(_ body: @escaping (RunLoop) throws -> Void) throws {
  let failure = Box<(any Error)?>(nil)
  TestThread {
    do { try body(.current) } catch { failure.value = error }
  }.join()
  if let error = failure.value { throw error }
}

/// What `body` throws; nil if it returns, or throws another error.
func thrown<R>(_ body: () throws -> R) -> RunLoopError? {
  do {
    _ = try body()
    return nil
  } catch {
    return error as? RunLoopError
  }
}

/// The call that the error of `body` names; nil if it names none, or nothing is thrown. Errors are equal whatever they name.
func thrownCall<R>(_ body: () throws -> R) -> String? { thrown(body)?.call }

/// A gate that one thread opens and others wait at: an event, no sleeping.
final class Gate: @unchecked Sendable {
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { sem_init(semaphore, 0, 0) }
  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func open() { sem_post(semaphore) }

  /// A gate that nobody opens ends the test program after five minutes, with the line that waited.
  func wait(file: StaticString = #file, line: UInt = #line) {
    guard wait(atMost: 300) else { fatalError("nobody has opened the gate in five minutes", file: file, line: line) }
  }

  /// False after so many seconds: what should have opened it hangs.
  func wait(atMost seconds: Int) -> Bool {
    var limit = timespec()
    clock_gettime(CLOCK_REALTIME, &limit)
    limit.tv_sec += seconds
    while sem_timedwait(semaphore, &limit) != 0 { if errno == ETIMEDOUT { return false } }
    return true
  }
}

/// Lets other threads run until `condition` holds, for what no event tells. What never comes ends the test program after a
/// minute, with the line that waited.
func yieldUntil(_ condition: @autoclosure () -> Bool, file: StaticString = #file, line: UInt = #line) {
  func seconds() -> Int {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec
  }
  let limit = seconds() + 60
  while !condition() {
    if seconds() > limit { fatalError("it has not come in a minute", file: file, line: line) }
    sched_yield()
  }
}

/// The same in a task, which keeps no thread from the task that it waits for.
func yieldUntil(
  _ condition: @autoclosure () -> Bool, file: StaticString = #file, line: UInt = #line
) async {
  let limit = ContinuousClock.now + .seconds(60)
  while !condition() {
    if ContinuousClock.now > limit { fatalError("it has not come in a minute", file: file, line: line) }
    await Task.yield()
  }
}

/// An eventfd that is closed with its owner. A test that goes on with the descriptor alone keeps the counter with
/// `withExtendedLifetime`: an optimized build releases it after its last use.
final class EventCounter: @unchecked Sendable {
  let descriptor: Int32

  init(isSemaphore: Bool = false) { descriptor = test_eventfd(isSemaphore ? 1 : 0) }
  deinit { close(descriptor) }

  func add(_ count: UInt64 = 1) {
    var count = count
    _ = write(descriptor, &count, 8)
  }

  func drain() {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
  }
}

/// A source whose number is closed before it leaves, while a duplicate stays: epoll goes on watching that.
final class Orphan {
  private let watched = test_eventfd(0)
  private let kept: Int32
  private let source: RunLoop.FileDescriptorSource

  init(in loop: RunLoop) throws {
    kept = dup(watched)
    source = try RunLoop.FileDescriptorSource(fileDescriptor: watched, interest: .readable) { _, _ in }
    try loop.add(source)
  }

  deinit { close(kept) }

  /// It is ready from then on, and the loop can be rid of it by another epoll instance only.
  func leave() {
    close(watched)
    source.invalidate()
    var one: UInt64 = 1
    precondition(write(kept, &one, 8) == 8)
  }
}

struct Pipe {
  let reading: Int32
  let writing: Int32

  init() {
    var ends: [Int32] = [-1, -1]
    precondition(test_pipe(&ends) == 0)
    (reading, writing) = (ends[0], ends[1])
  }

  func send(_ text: String) { _ = text.withCString { write(writing, $0, strlen($0)) } }

  /// Asked of the end that writes: another file may have the number of a closed one.
  var hasReader: Bool {
    var entry = pollfd(fd: writing, events: 0, revents: 0)
    return poll(&entry, 1, 0) == 0
  }

  /// Asked of the end that reads.
  var hasWriter: Bool {
    var entry = pollfd(fd: reading, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) < 1 || entry.revents & Int16(POLLHUP) == 0
  }

  func receive() -> String {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(reading, &buffer, buffer.count)
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : ""
  }

  func closeBoth() {
    close(reading)
    close(writing)
  }
}

/// What a host that polls finds, within so many milliseconds.
func isReadable(_ descriptor: Int32, _ milliseconds: Int32 = 0) -> Bool {
  var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
  return poll(&entry, 1, milliseconds) == 1
}

/// Closes a descriptor, and keeps its number taken, so that no other thread's descriptor gets it: a thread of libdispatch opens
/// files now and then. Reads, writes, epoll_ctl(2) and epoll_wait(2) say EBADF; fcntl(2) does not. The caller closes the number.
func closeAndHold(_ descriptor: Int32) {
  let pathOnly: Int32 = 0o10000000  // O_PATH, which the Glibc module lacks
  let place = open("/", pathOnly | O_CLOEXEC)
  precondition(dup2(place, descriptor) == descriptor && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0)
  close(place)
}

/// XCTest makes libdispatch wait for a moment, and libdispatch's own threads open what they need for that some time
/// later: an epoll set, an eventfd, and a timerfd for each clock. Once both clocks have fired they have it all.
private let dispatchHasItsDescriptors: Void = {
  let (queue, fired) = (DispatchQueue.global(), DispatchSemaphore(value: 0))
  queue.asyncAfter(deadline: .now() + .milliseconds(1)) { fired.signal() }
  queue.asyncAfter(wallDeadline: .now() + .milliseconds(1)) { fired.signal() }
  for _ in 0..<2 { fired.wait() }
}()

/// Counts the descriptors of the process. Two counts differ by what the test has opened between them.
func openDescriptors() -> Int {
  if test_is_forked() == 0 { dispatchHasItsDescriptors }  // a child has none of libdispatch's threads
  guard let folder = opendir("/proc/self/fd") else { return -1 }
  defer { closedir(folder) }
  var count = 0
  while readdir(folder) != nil { count += 1 }
  return count - 3  // ".", ".." and the folder's own
}

/// Each with its number and what it is: what is new is told from what others have closed meanwhile.
func openFiles() -> Set<String> {
  guard let folder = opendir("/proc/self/fd") else { return [] }
  defer { closedir(folder) }
  var files: Set<String> = []
  while let entry = readdir(folder) {
    let number = withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    var target = [UInt8](repeating: 0, count: 256)
    let count = target.withUnsafeMutableBytes { readlink("/proc/self/fd/\(number)", $0.baseAddress!, $0.count) }
    if count > 0, number != "\(dirfd(folder))" {
      files.insert("\(number) \(String(decoding: target[..<count], as: UTF8.self))")
    }
  }
  return files
}

/// The sockets of the process, each once: a duplicate of a descriptor is no other socket. An introduction makes two, at
/// once.
func openSockets() -> Set<Substring> {
  Set(openFiles().compactMap { $0.split(separator: " ").last }.filter { $0.hasPrefix("socket:") })
}

/// Asks until no file is open that was not among these, besides those of loops. A moment is enough, since what was lost
/// stays open; hence one look decides about going on and about the answer. What an earlier test has left may be among them,
/// and be closed meanwhile.
func settle(
  among files: Set<String>, file: StaticString = #filePath, line: UInt = #line, asking ask: () throws -> Void
) rethrows {
  var (left, tries) = (filesBesideLoops().subtracting(files), 0)
  while !left.isEmpty, tries < 10_000 {
    try ask()
    (left, tries) = (filesBesideLoops().subtracting(files), tries + 1)
  }
  XCTAssertEqual(left, [], file: file, line: line)
}

/// As `openFiles`, without what loops make for themselves, some of it only when they come to need it: their sets, wakeup ports
/// and timerfds.
func filesBesideLoops() -> Set<String> {
  openFiles().filter { file in !["[eventpoll]", "[eventfd]", "[timerfd]"].contains(where: file.hasSuffix) }
}

extension RunLoop {
  /// Runs the mode until it is so. After half a minute the test has failed.
  func serve(
    in mode: Mode = .default, file: StaticString = #filePath, line: UInt = #line, until isDone: () -> Bool
  ) throws {
    let end = Instant.now.advanced(by: .seconds(30))
    while !isDone(), Instant.now < end { _ = try run(in: mode, for: .milliseconds(20), returnAfterSourceHandled: true) }
    XCTAssertTrue(isDone(), "it has not come", file: file, line: line)
  }
}

extension RunLoop.Timer {
  /// Never fires within a test; keeps its mode from being empty.
  static func never() -> RunLoop.Timer { RunLoop.Timer(fireDate: .distantFuture) { _ in } }
}

/// Runs a program of this package until it ends: how it has ended, and what it has said.
func runProgram(_ name: String, _ words: [String]) -> (status: Int32, output: String) {
  let pipe = Pipe()
  for end in [pipe.reading, pipe.writing] { _ = fcntl(end, F_SETFL, 0) }  // both wait
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  posix_spawn_file_actions_adddup2(&actions, pipe.writing, 1)
  posix_spawn_file_actions_adddup2(&actions, pipe.writing, 2)
  let path = program(name)
  var argv: [UnsafeMutablePointer<CChar>?] = ([path] + words).map { strdup($0) } + [nil]
  defer { argv.forEach { free($0) } }
  var process = pid_t()
  guard posix_spawn(&process, path, &actions, nil, &argv, environ) == 0 else { return (-1, "\(path) does not start") }
  close(pipe.writing)
  var output = ""
  while case let text = pipe.receive(), !text.isEmpty { output += text }
  close(pipe.reading)
  var status: Int32 = -1
  while waitpid(process, &status, 0) < 0 && errno == EINTR {}
  return (status, output)
}
