import CTestSupport
import Glibc
import RunLoopKit
import RunLoopTesting
import Synchronization

/// Lines, in order.
final class Log: Sendable {
  private let entries = Mutex<[String]>([])

  func append(_ entry: String) { entries.withLock { $0.append(entry) } }
  var all: [String] { entries.withLock { $0 } }
}

/// Two ends that do not block.
func makePipe() -> (reading: Int32, writing: Int32) {
  var ends: [Int32] = [-1, -1]
  precondition(test_pipe(&ends) == 0)
  return (ends[0], ends[1])
}

func closeBoth(_ ends: (reading: Int32, writing: Int32)) { for end in [ends.reading, ends.writing] { close(end) } }

/// Where threads wait for each other in the machine's time, of which virtual time knows nothing.
final class Meeting: @unchecked Sendable {
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { sem_init(semaphore, 0, 0) }

  deinit {
    sem_destroy(semaphore)
    semaphore.deallocate()
  }

  func arrive() { sem_post(semaphore) }

  /// Once for each arrival.
  func awaitArrival() { while sem_wait(semaphore) != 0 {} }
}

/// A thread of the machine, which takes no part unless it enters.
func makeThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
  final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
  var handle = pthread_t()
  let argument = Unmanaged.passRetained(Body(body)).toOpaque()
  pthread_create(
    &handle, nil,
    { argument in
      Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
      return nil
    }, argument)
  return handle
}

/// Its folder of proc(5).
func callingThread() -> String {
  var name = [UInt8](repeating: 0, count: 64)
  let count = name.withUnsafeMutableBytes { readlink("/proc/thread-self", $0.baseAddress!, $0.count) }
  return "/proc/" + String(decoding: name.prefix(max(0, count)), as: UTF8.self)
}

/// The state is behind the name in brackets.
func isAsleep(_ thread: String) -> Bool {
  let file = open(thread + "/stat", O_RDONLY | O_CLOEXEC)
  defer { close(file) }
  var text = [UInt8](repeating: 0, count: 256)
  let count = read(file, &text, text.count)
  let words = String(decoding: text.prefix(max(0, count)), as: UTF8.self)
  return words.lastIndex(of: ")").map { words[$0...].hasPrefix(") S") } ?? false
}
