import RunLoopKit
internal import RunLoopLibc

/// A thread that runs the closures of `call`, and the jobs of tasks that prefer this executor, one after the other.
final class OwnThread: TaskExecutor, @unchecked Sendable {
  private let lock = TurnLock()
  /// Signalled when a piece of work is added, and by `end`.
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  /// First in, first out. Guarded by `lock`.
  private var work: [Piece] = []
  /// Guarded by `lock`.
  private var isOver = false

  private struct Piece {
    /// Nil once it has run, so that the thread retains nothing of it.
    var body: (() -> Void)?
    /// Happens when the piece has run.
    let end: Occasion?
  }

  /// The result of a call: the thread sets it, and the caller takes it.
  private final class Answer<R> {
    var result: Result<R, any Error>?
  }

  init() throws(RunLoopError) {
    pthread_cond_init(condition, nil)
    var handle = pthread_t()
    let held = Unmanaged.passRetained(self)
    let status = pthread_create(&handle, nil, ownThreadMain, held.toOpaque())
    guard status == 0 else {
      held.release()
      throw .system(status, call: "pthread_create", "the thread of VirtualTime.run")
    }
    pthread_detach(handle)
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    add(Piece(body: { job.runSynchronously(on: self.asUnownedTaskExecutor()) }, end: nil))
  }

  /// Runs `body` on this thread and waits for it, in real time; a calling participant passes its turn on meanwhile.
  /// Afterwards this thread retains nothing of `body`, nor of its result.
  func call<R>(_ body: @escaping () throws -> R) throws -> R {
    let (answer, end) = (Answer<R>(), Occasion())
    add(Piece(body: { answer.result = Result { try body() } }, end: end))
    end.wait(for: "the end of a virtual time (VirtualTime.run)")
    // The thread has set the result before the end happened.
    return try answer.result.take()!.get()
  }

  /// Ends the thread when it has run the work that was added before. The call does not wait. A thread that has ended
  /// retains nothing.
  func end() {
    lock.withLock { isOver = true }
    pthread_cond_signal(condition)
  }

  private func add(_ piece: Piece) {
    lock.withLock { work.append(piece) }
    pthread_cond_signal(condition)
  }

  fileprivate func runPieces() {
    while var piece = next() {
      piece.body.take()!()
      piece.end?.happen()
    }
  }

  private func next() -> Piece? {
    lock.withLock {
      while work.isEmpty, !isOver { lock.wait(condition) }
      return work.isEmpty ? nil : work.removeFirst()
    }
  }
}

private func ownThreadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  // Takes over the reference that `init` has passed to pthread_create(3).
  Unmanaged<OwnThread>.fromOpaque(argument!).takeRetainedValue().runPieces()
  return nil
}
