import Dispatch
import Glibc
import RunLoopKit

import class RunLoopKit.RunLoop

/// One case of a main thread that ends: `main-ends CASE`. The main thread has not asked for its loop.
@main struct Program {
  static func main() {
    let name = CommandLine.arguments.dropFirst().first ?? ""
    var key = pthread_key_t()
    pthread_key_create(&key) { _ in mainThread.hasEnded() }
    pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    startThread {
      do {
        try Cases.run(name)
        print("ok")
      } catch {
        print("FAIL \(name): \(error)")
      }
      exit(0)
    }
    mainThread.awaitLeave()
    // As an async main does when it first suspends; or as a C program does.
    if name.hasPrefix("exit") { pthread_exit(nil) }
    dispatchMain()
  }
}

let mainThread = MainThreadsEnd()

/// Tells of the end of the main thread: behind the library's own destructor, since its key is younger.
final class MainThreadsEnd: @unchecked Sendable {
  private let leave = Event()
  private let ended = Event()

  /// Ends it.
  func end() {
    leave.come()
    ended.wait()
  }

  /// It may end at any moment from now on.
  func letGo() { leave.come() }

  func awaitLeave() { leave.wait() }
  func hasEnded() { ended.come() }
}

final class Event: @unchecked Sendable {
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
  init() { sem_init(semaphore, 0, 0) }
  func come() { sem_post(semaphore) }
  func wait() { while sem_wait(semaphore) != 0 {} }
}

private final class Body: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Nobody joins the thread: the program ends with its case.
func startThread(_ body: @escaping @Sendable () -> Void) {
  var thread = pthread_t()
  let argument = Unmanaged.passRetained(Body(body)).toOpaque()
  let status = pthread_create(&thread, nil, runBody, argument)
  precondition(status == 0, "pthread_create: \(status)")
  pthread_detach(thread)
}

private func runBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
  return nil
}
