import RunLoopKit
internal import RunLoopLibc
internal import Synchronization

extension VirtualTime {
  /// A participant's thread, made by `start`.
  public final class Thread: Sendable {
    private let participant: Participant
    private let handle: Mutex<pthread_t?>

    init(_ participant: Participant, handle: pthread_t) {
      self.participant = participant
      self.handle = Mutex(handle)
    }

    deinit {
      handle.withLock { if let handle = $0 { _ = pthread_detach(handle) } }
    }

    /// Waits for the complete end of the thread, including the destruction of its loop. A second join returns at once.
    ///
    /// - Thread: Any but the thread itself. - Blocks: Virtually, by the calling thread's own clock and turns.
    public func join() {
      participant.departure.wait(for: "the end of a thread (VirtualTime.Thread.join)")
      // The thread has passed its turn on in the last of its destructors, so this wait is short.
      if let handle = handle.withLock({ $0.take() }) { pthread_join(handle, nil) }
    }
  }

  /// Starts a thread that takes part. It joins the queue for the turn, behind the threads that can run already.
  ///
  /// - Precondition: The system can make one more thread.
  /// - Thread: Any. - Blocks: No.
  public func start(_ body: @escaping @Sendable () -> Void) -> Thread {
    let participant = turns.makePlace()
    let start = Unmanaged.passRetained(ThreadStart(turns, participant, body))
    var handle = pthread_t()
    let status = pthread_create(&handle, nil, threadMain, start.toOpaque())
    guard status == 0 else { fatalError("VirtualTime.Thread: pthread_create failed: error \(status)") }
    return Thread(participant, handle: handle)
  }
}

private final class ThreadStart: Sendable {
  let turns: Turns
  let kernel: Kernel
  let participant: Participant
  let body: @Sendable () -> Void

  init(_ turns: Turns, _ participant: Participant, _ body: @escaping @Sendable () -> Void) {
    self.turns = turns
    kernel = VirtualKernel.make(turns)
    self.participant = participant
    self.body = body
  }
}

private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  let start = Unmanaged<ThreadStart>.fromOpaque(argument!).takeRetainedValue()
  start.kernel.enter()
  start.turns.adopt(start.participant)
  start.body()
  return nil
}
