/// A block on its way to another thread and back. Its closures are the runner's once the ticket says that it has begun,
/// else whoever's that withdraws it or finds it lost.
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

  /// Releases the block. The thread that has waited calls it and leaves `whenLost` alone: the loop may still read that
  /// field after it has woken the thread.
  func forgetBlock() { body = nil }

  func run(on loop: RunLoop) {
    guard ticket.begin() else { return }
    loop.noteSourcePerform()
    loop.callAwaited(self) { callBody() }
    ticket.finish()
  }

  /// The queued block was released without having had its turn.
  func lose() {
    if ticket.lose() { tellOfLoss(nil) }
  }

  override func isLeft() {
    if ticket.isLeft() { tellOfLoss(.blockLeft) }
  }

  private func tellOfLoss(_ error: RunLoopError?) {
    guard let whenLost else { return }
    forget()
    whenLost(error)
  }

  /// A function of its own: no frame holds the closure when it returns, before the waiting thread goes on.
  @inline(never)
  private func callBody() {
    switch body {
    case .some(let body): body.call()
    case .none: break
    }
  }

  /// Borrowed for the call, which does not retain it: a frame that is left would keep it, and the waiting thread lends
  /// its block only.
  private struct Body: ~Copyable {
    let function: () -> Void

    borrowing func call() { function() }
  }
}

/// Held by the queued block alone: if that is released without having run, the call is lost.
final class AwaitedTurn {
  private let call: AwaitedCall

  init(_ call: AwaitedCall) { self.call = call }

  func run(on loop: RunLoop) { call.run(on: loop) }

  deinit { call.lose() }
}
