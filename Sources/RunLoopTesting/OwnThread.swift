import Glibc
import RunLoopKit

/// A thread that runs what it is given, and the jobs of tasks that prefer it, one after the other.
final class OwnThread: TaskExecutor, @unchecked Sendable {
  private let lock = TurnLock()
  /// Signalled with each piece of work, and at the end.
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  /// First in, first out. Guarded by `lock`.
  private var work: [() -> Void] = []
  /// Guarded by `lock`.
  private var isOver = false

  init() throws(RunLoopError) {
    pthread_cond_init(condition, nil)
    var handle = pthread_t()
    let held = Unmanaged.passRetained(self)
    let status = pthread_create(&handle, nil, ownThreadMain, held.toOpaque())
    guard status == 0 else {
      held.release()
      throw .systemCall(name: .init("pthread_create", "the thread of VirtualTime.run"), errno: status)
    }
    pthread_detach(handle)
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    add { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// Waits for the machine's time that `body` takes.
  func call<R>(_ body: @escaping () throws -> R) throws -> R {
    var result: Result<R, any Error>?
    let answered = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    sem_init(answered, 0, 0)
    defer {
      sem_destroy(answered)
      answered.deallocate()
    }
    add {
      result = Result { try body() }
      sem_post(answered)
    }
    while sem_wait(answered) != 0 {}  // a signal
    // Set before the semaphore.
    return try result!.get()
  }

  /// After what was added before. The thread holds nothing then, and is not waited for.
  func end() {
    lock.withLock { isOver = true }
    pthread_cond_signal(condition)
  }

  private func add(_ piece: @escaping () -> Void) {
    lock.withLock { work.append(piece) }
    pthread_cond_signal(condition)
  }

  fileprivate func serve() {
    while let piece = next() { piece() }
  }

  private func next() -> (() -> Void)? {
    lock.withLock {
      while work.isEmpty, !isOver { lock.wait(condition) }
      return work.isEmpty ? nil : work.removeFirst()
    }
  }
}

private func ownThreadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  // The one reference that `init` has passed to pthread_create(3).
  Unmanaged<OwnThread>.fromOpaque(argument!).takeRetainedValue().serve()
  return nil
}
