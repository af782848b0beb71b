/// A block that another thread runs, while a thread or a task waits for it. From its start to its end only the running
/// thread uses the closures. Before, only code that has withdrawn the block, or has marked it as lost, uses them.
/// Afterwards a thread that has waited releases the block.
final class AwaitedCall: CallOnStack, @unchecked Sendable {
  let ticket = BlockTicket()
  @exclusivity(unchecked) private var body: Body?
  private var whenLost: ((RunLoopError?) -> Void)?

  init(_ body: @escaping () -> Void, whenLost: ((RunLoopError?) -> Void)? = nil) {
    self.body = Body(function: body)
    self.whenLost = whenLost
  }

  func forget() {
    forgetBlock()
    whenLost = nil
  }

  /// Releases the block. The thread that has waited calls this. It does not touch `whenLost`, because the loop may
  /// still read that field after it has woken the thread.
  func forgetBlock() { body = nil }

  func run(on loop: RunLoop) {
    guard ticket.begin() else { return }
    loop.noteSourcePerform()
    loop.callAwaited(self) { callBody() }
    ticket.finish()
  }

  /// Called when the queued block is released. Reports the loss if the block neither began nor was withdrawn.
  func lose() {
    if ticket.lose() { reportLoss(nil) }
  }

  override func isLeft() {
    if ticket.isLeft() { reportLoss(.blockLeft) }
  }

  private func reportLoss(_ error: RunLoopError?) {
    guard let whenLost else { return }
    forget()
    whenLost(error)
  }

  /// A separate function, so that no frame holds the closure when the waiting thread goes on.
  @inline(never)
  private func callBody() {
    switch body {
    case .some(let body): body.call()
    case .none: break
    }
  }

  /// Not copyable, so that a call borrows the closure instead of retaining it. A frame that an exception skips would
  /// never release it, and the block must not outlive the caller's wait.
  private struct Body: ~Copyable {
    let function: () -> Void

    borrowing func call() { function() }
  }
}

/// Only the queued block retains this. If that block is released without having run, the call is lost.
final class AwaitedTurn {
  private let call: AwaitedCall

  init(_ call: AwaitedCall) { self.call = call }

  func run(on loop: RunLoop) { call.run(on: loop) }

  deinit { call.lose() }
}
