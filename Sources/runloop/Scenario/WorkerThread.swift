internal import RunLoopLibc
import RunLoopTesting

/// A thread that a scenario's timeline has started.
enum WorkerThread: Sendable {
  case real(pthread_t)
  case virtual(VirtualTime.Thread)

  /// Waits for the complete end of the thread. Call it at most once.
  func join() {
    switch self {
    case .real(let handle): pthread_join(handle, nil)
    case .virtual(let thread): thread.join()
    }
  }
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void

  init(_ run: @escaping @Sendable () -> Void) {
    self.run = run
  }
}

func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
  var handle = pthread_t()
  let status = pthread_create(&handle, nil, runThreadBody, Unmanaged.passRetained(ThreadBody(body)).toOpaque())
  precondition(status == 0, "pthread_create failed: error \(status)")
  return handle
}

private func runThreadBody(_ body: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  Unmanaged<ThreadBody>.fromOpaque(body!).takeRetainedValue().run()
  return nil
}
