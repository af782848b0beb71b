/// A block that another thread runs, while a thread or a task waits for it. Once the ticket says that the block has
/// begun, only the running thread uses the closures. Before that, only the code uses them that has withdrawn the block
/// or marked it as lost.
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

  /// Releases the block. The thread that has waited calls this, and leaves `whenLost` alone: the loop may still read
  /// that field after it has woken the thread.
  func forgetBlock() { body = nil }

  func run(on loop: RunLoop) {
    guard ticket.begin() else { return }
    loop.noteSourcePerform()
    loop.callAwaited(self) { callBody() }
    ticket.finish()
  }

  /// Called when the queued block was released without having run.
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

  /// Not copyable, so that a call borrows the closure and does not retain it. A frame that is left would never release
  /// it, and the waiting thread only lends its block.
  private struct Body: ~Copyable {
    let function: () -> Void

    borrowing func call() { function() }
  }
}

/// Only the queued block holds this. If that is released without having run, the call is lost.
final class AwaitedTurn {
  private let call: AwaitedCall

  init(_ call: AwaitedCall) { self.call = call }

  func run(on loop: RunLoop) { call.run(on: loop) }

  deinit { call.lose() }
}
